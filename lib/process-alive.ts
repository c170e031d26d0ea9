/** Whether a process with this number exists on this machine, whoever runs it. */
export function isProcessAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not permitted to ask means that it exists.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
