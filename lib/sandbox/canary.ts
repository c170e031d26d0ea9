import type { EnforcedLimits } from "../types.js";

const files = {
  memory: ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"],
  swap: ["/sys/fs/cgroup/memory.swap.max", "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes"],
  cpu: ["/sys/fs/cgroup/cpu.max", "/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us"],
  pids: ["/sys/fs/cgroup/pids.max", "/sys/fs/cgroup/pids/pids.max"],
} as const;

/** Prints each file with its name in front of its content; in every image with a shell's usual programs. */
export const canaryCommand: readonly string[] = ["grep", "-sH", "", ...Object.values(files).flat()];

/** Reads what the canary printed. Only a limit that is there, and is not "unlimited", counts as enforced. */
export function readCanary(stdout: string, limits: { readonly memoryMb: number; readonly pidsLimit: number }): EnforcedLimits {
  const values = new Map<string, string>();
  for (const line of stdout.split("\n")) {
    const colon = line.indexOf(":");
    if (colon > 0) values.set(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  if (values.size === 0) return { memory: null, swap: null, cpu: null, pids: null };
  const first = (names: readonly string[]) => names.map((name) => values.get(name)).find((value) => value !== undefined);
  const memoryBytes = limits.memoryMb * 1024 * 1024;
  return {
    memory: atMost(first(files.memory), memoryBytes) ?? false,
    // Without a swap file in the cgroup the kernel does not count swap; that is only told.
    swap: atMost(first(files.swap), memoryBytes),
    cpu: isQuota(first(files.cpu)),
    pids: atMost(first(files.pids), limits.pidsLimit) ?? false,
  };
}

function atMost(value: string | undefined, limit: number): boolean | null {
  if (value === undefined) return null;
  return /^\d+$/.test(value) && Number(value) <= limit;
}

/** cgroup v2 writes "quota period" or "max period", v1 a number that is -1 without a limit. */
function isQuota(value: string | undefined): boolean {
  return value !== undefined && Number.parseInt(value, 10) > 0;
}
