const NUMBERS = { SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof NUMBERS;

/** Why a command was told to stop. */
export interface StopReason {
  readonly signal: Signal;
  /** What a process that the signal ended is reported with. */
  readonly exitCode: number;
}

/** The first Ctrl-C or SIGTERM aborts the signal, so that the command can end what it does; the second ends the process. */
export function stopOnSignals(process: NodeJS.EventEmitter): { readonly signal: AbortSignal; stop(): void } {
  const controller = new AbortController();
  const onSignal = (signal: Signal) => {
    const reason: StopReason = { signal, exitCode: 128 + NUMBERS[signal] };
    if (controller.signal.aborted) globalThis.process.exit(reason.exitCode);
    controller.abort(reason);
  };
  for (const name of Object.keys(NUMBERS)) process.on(name, onSignal);
  return {
    signal: controller.signal,
    stop() {
      for (const name of Object.keys(NUMBERS)) process.off(name, onSignal);
    },
  };
}

/** The exit code of a command that a signal stopped, or `undefined` when none did. */
export function stoppedExitCode(signal: AbortSignal): number | undefined {
  return signal.aborted ? (signal.reason as StopReason).exitCode : undefined;
}

/** Resolves once a command is told to stop. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
