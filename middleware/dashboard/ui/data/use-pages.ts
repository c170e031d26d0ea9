import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Problem, toProblem } from "../api/problem.js";
import type { Page } from "../api/types.js";

export interface Pages<Item> {
  readonly items: readonly Item[] | undefined;
  readonly problem: Problem | undefined;
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  loadMore(): void;
  /** Loads the first page again and leaves what follows it. */
  reload(): void;
}

interface State<Item> {
  readonly key: string;
  readonly items?: readonly Item[];
  readonly nextCursor: string | null;
  readonly problem?: Problem;
  readonly isLoading: boolean;
}

interface Loading {
  readonly ending: AbortController;
  /** Whether it loads items after those that are there. */
  readonly isOlder: boolean;
  reloadAfter: boolean;
}

/**
 * A list that is loaded page by page, from the start whenever `key` changes. Older items that somebody asked for are not given up when
 * news make the first page be loaded again: that comes after them.
 */
export function usePages<Item extends { readonly id: string }>(
  key: string,
  load: (cursor: string | undefined, signal: AbortSignal) => Promise<Page<Item>>,
): Pages<Item> {
  const [state, setState] = useState<State<Item>>({ key, nextCursor: null, isLoading: true });
  const latest = useRef({ load, state, key });
  latest.current = { load, state, key };
  const loading = useRef<Loading | undefined>(undefined);

  const run = useCallback((cursor: string | undefined) => {
    const current = loading.current;
    if (current?.isOlder && cursor === undefined) {
      current.reloadAfter = true;
      return;
    }
    current?.ending.abort();
    const ending = new AbortController();
    const loadingNow: Loading = {
      ending,
      isOlder: cursor !== undefined,
      reloadAfter: cursor !== undefined && current !== undefined,
    };
    loading.current = loadingNow;
    const finish = (change: (before: State<Item>) => State<Item>) => {
      if (ending.signal.aborted) return;
      loading.current = undefined;
      setState(change);
      if (loadingNow.reloadAfter) run(undefined);
    };
    const { key: wanted, load: loadNow } = latest.current;
    setState((before) =>
      before.key === wanted ? { ...before, isLoading: true } : { key: wanted, nextCursor: null, isLoading: true },
    );
    loadNow(cursor, ending.signal).then(
      (page) => finish((before) => merge(before, page, cursor)),
      (error: unknown) => finish((before) => ({ ...before, problem: toProblem(error), isLoading: false })),
    );
  }, []);
  useEffect(() => {
    run(undefined);
    return () => {
      loading.current?.ending.abort();
      loading.current = undefined;
    };
  }, [key]);

  const isCurrent = state.key === key;
  return {
    items: isCurrent ? state.items : undefined,
    problem: isCurrent ? state.problem : undefined,
    hasMore: isCurrent && state.nextCursor !== null,
    isLoading: state.isLoading || !isCurrent,
    loadMore: useCallback(() => run(latest.current.state.nextCursor ?? undefined), []),
    reload: useCallback(() => run(undefined), []),
  };
}

/** A first page that was loaded again keeps the older items that the pages after it gave, as long as nothing is missing in between. */
function merge<Item extends { readonly id: string }>(
  before: State<Item>,
  page: Page<Item>,
  cursor: string | undefined,
): State<Item> {
  const { key, items = [] } = before;
  if (cursor !== undefined) return { key, items: [...items, ...page.items], nextCursor: page.nextCursor, isLoading: false };
  const last = page.items.at(-1);
  const place = last === undefined ? -1 : items.findIndex(({ id }) => id === last.id);
  if (place === -1 || place === items.length - 1) return { key, ...page, isLoading: false };
  return { key, items: [...page.items, ...items.slice(place + 1)], nextCursor: before.nextCursor, isLoading: false };
}
