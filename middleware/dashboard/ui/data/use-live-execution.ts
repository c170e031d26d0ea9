import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { get } from "../api/client.js";
import { type FeedState, follow, type ServerEvent } from "../api/events.js";
import { type Problem, toProblem } from "../api/problem.js";
import type { Execution, LogLine, Progress } from "../api/types.js";

export interface LiveExecution {
  readonly execution: Execution | undefined;
  readonly progress: Progress | undefined;
  readonly lines: readonly LogLine[];
  /** Lines that came while the page was not connected, and are no longer kept. */
  readonly missing: number;
  readonly problem: Problem | undefined;
  readonly feed: FeedState;
  reload(): void;
}

type Live = Omit<LiveExecution, "feed" | "reload">;

const MAX_LINES = 1_000;
const NOTHING: Live = { execution: undefined, progress: undefined, lines: [], missing: 0, problem: undefined };

/** One execution as it is now, and as it changes until it ends. */
export function useLiveExecution(id: string): LiveExecution {
  const [live, setLive] = useState<Live>(NOTHING);
  const [feed, setFeed] = useState<FeedState>("connecting");
  const isOver = useRef(false);
  const reload = useCallback(() => {
    get<Execution>(`executions/${encodeURIComponent(id)}`).then(
      (execution) => setLive(({ problem: _past, ...before }) => ({ ...before, execution, problem: undefined })),
      (error: unknown) => setLive((before) => ({ ...before, problem: toProblem(error) })),
    );
  }, [id]);
  isOver.current = live.execution !== undefined && live.execution.finishedAt !== null;

  useEffect(() => {
    reload();
    return follow({
      path: `executions/${encodeURIComponent(id)}/events`,
      isOver: () => isOver.current,
      onState: (state) => {
        setFeed(state);
        // What is stored is whole; what the stream told may have been cut.
        if (state === "ended") reload();
      },
      onPoll: reload,
      onEvent: (event) => {
        if (isFinalStatus(event)) isOver.current = true;
        setLive((before) => apply(before, event));
      },
    });
  }, [id, reload]);
  return { ...live, feed, reload };
}

function isFinalStatus({ type, data }: ServerEvent): boolean {
  const execution =
    type === "status" ? (data as Execution) : type === "state" ? (data as { execution?: Execution }).execution : undefined;
  return typeof execution?.finishedAt === "string";
}

function apply(live: Live, { type, data }: ServerEvent): Live {
  switch (type) {
    case "state":
      return { ...live, ...readState(data as ServerState) };
    case "status":
      return { ...live, execution: { ...live.execution, ...(data as Execution) } };
    case "progress":
      return { ...live, progress: data as Progress };
    case "log":
    case "stderr":
      return { ...live, lines: [...live.lines, data as LogLine].slice(-MAX_LINES) };
    case "gap":
      return { ...live, missing: live.missing + ((data as { lines?: number }).lines ?? 0) };
    default:
      return live;
  }
}

interface ServerState {
  readonly execution: Execution;
  readonly progress?: Progress | null;
  readonly log?: readonly LogLine[];
}

function readState({ execution, progress, log = [] }: ServerState): Partial<Live> {
  return { execution, progress: progress ?? undefined, lines: log, missing: 0 };
}
