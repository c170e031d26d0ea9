import type { VNode } from "preact";
import { useCallback, useState } from "preact/hooks";
import { get } from "../api/client.js";
import type { FeedState } from "../api/events.js";
import type { Execution, Page } from "../api/types.js";
import { useMay } from "../data/session.js";
import { useFeed } from "../data/use-feed.js";
import { type Pages, usePages } from "../data/use-pages.js";
import { PageHeader } from "../parts/page-header.js";
import { ProblemPanel } from "../parts/problem-panel.js";
import { Empty, Loading } from "../parts/states.js";
import { href, type Route, replaceQuery } from "../route.js";
import { ExecutionFilters, filterOf } from "./execution-filters.js";
import { ExecutionTable } from "./execution-table.js";

const PAGE_SIZE = 50;

export function ExecutionsPage({ route }: { readonly route: Route }): VNode {
  const filter = filterOf(route.query);
  const executions = usePages(JSON.stringify(filter), (cursor, signal) =>
    get<Page<Execution>>("executions", { ...filter, cursor, limit: PAGE_SIZE }, signal),
  );
  const [isPaused, setPaused] = useState(false);
  const feed = useFeed(useMay("operator"), isPaused, executions.reload);
  const clear = useCallback(() => replaceQuery(route, {}), [route]);
  const isFiltered = Object.values(filter).some((value) => value !== undefined);
  return (
    <>
      <PageHeader title="Executions">
        <FeedStatus state={feed} isPaused={isPaused} />
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? "Go on" : "Pause"}
        </button>
      </PageHeader>
      <ExecutionFilters route={route} isFiltered={isFiltered} />
      {executions.problem !== undefined && <ProblemPanel problem={executions.problem} onRetry={executions.reload} />}
      <List executions={executions} isFiltered={isFiltered} onClear={clear} />
    </>
  );
}

interface ListProps {
  readonly executions: Pages<Execution>;
  readonly isFiltered: boolean;
  onClear(): void;
}

function List({ executions, isFiltered, onClear }: ListProps): VNode | null {
  const { items, problem, hasMore, isLoading, loadMore } = executions;
  if (items === undefined) return problem === undefined ? <Loading what="Loading the executions" /> : null;
  if (items.length === 0)
    return isFiltered ? (
      <Empty title="No execution fits">
        <button type="button" onClick={onClear}>
          Clear the filter
        </button>
      </Empty>
    ) : (
      <Empty title="Nothing has run yet">
        <p>
          Call a route that has a skill, or open a <a href={href(["skills"])}>skill</a> and run it. It appears here at once.
        </p>
      </Empty>
    );
  return (
    <>
      <section class="panel panel-flush" aria-label="Executions">
        <ExecutionTable executions={items} />
      </section>
      <p class="hint">
        {items.length} shown{hasMore ? ", newest first; there are more." : ": all of them."}
      </p>
      {hasMore && (
        <button type="button" class="more" disabled={isLoading} onClick={loadMore}>
          Show older ones
        </button>
      )}
    </>
  );
}

const FEED_TEXTS: Readonly<Record<FeedState, string>> = {
  connecting: "Connecting",
  live: "Live",
  polling: "Every few seconds",
  ended: "Ended",
};

function FeedStatus({ state, isPaused }: { readonly state: FeedState; readonly isPaused: boolean }): VNode {
  return (
    <span class={`feed feed-${isPaused ? "paused" : state}`} role="status">
      <span class="feed-dot" aria-hidden="true" /> {isPaused ? "Paused" : FEED_TEXTS[state]}
    </span>
  );
}
