import { useEffect, useRef, useState } from "preact/hooks";
import { type FeedState, follow } from "../api/events.js";
import { useEvery } from "./use-resource.js";

/** However many calls begin and end: the list is loaded again this often at most. */
const RELOAD_EVERY_MS = 700;
const POLL_EVERY_MS = 4_000;

/** Calls `onChange` when some execution changed its status: at once where the server tells it, else every few seconds. */
export function useFeed(isTold: boolean, isPaused: boolean, onChange: () => void): FeedState {
  const [state, setState] = useState<FeedState>("connecting");
  const latest = useRef(onChange);
  latest.current = onChange;
  useEffect(() => {
    if (isPaused || !isTold) return;
    const throttled = throttle(() => latest.current(), RELOAD_EVERY_MS);
    const stop = follow({ path: "executions/events", onEvent: throttled.call, onState: setState, onPoll: throttled.call });
    return () => {
      stop();
      throttled.cancel();
    };
  }, [isTold, isPaused]);
  useEvery(onChange, isTold || isPaused ? undefined : POLL_EVERY_MS);
  return isTold ? state : "polling";
}

/** At once, and at most once in `everyMs`. The last time comes after the last call: what a call tells of may be stored a moment later. */
function throttle(action: () => void, everyMs: number): { call(): void; cancel(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWaiting = false;
  const run = () => {
    isWaiting = false;
    action();
    timer = setTimeout(() => {
      timer = undefined;
      if (isWaiting) run();
    }, everyMs);
  };
  return {
    call() {
      if (timer === undefined) run();
      isWaiting = true;
    },
    cancel: () => clearTimeout(timer),
  };
}
