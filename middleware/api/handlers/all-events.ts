import type { ExecutionEvents } from "../../../lib/index.js";
import { Feed } from "../events/feed.js";
import { headers } from "../parameters.js";
import { type AnyRoute, defineRoute } from "../route.js";

const FIRST_PAGE = 50;

/** Makes the row for one API: its streams share a feed of each kit. */
export function createAllEvents(): AnyRoute {
  const feeds = new WeakMap<ExecutionEvents, Feed>();
  const feedOf = (events: ExecutionEvents) => {
    const feed = feeds.get(events) ?? new Feed(events);
    feeds.set(events, feed);
    return feed;
  };
  return defineRoute({
    method: "GET",
    path: "executions/events",
    role: "operator",
    id: "followExecutions",
    summary: "The status changes of all executions of this process, as Server-Sent Events",
    description:
      "First `state` (`{ items }`, the newest executions as in the list), then a `status` for each change, with the execution as in the list. When there are more than can be sent, `gap` (`{ changes }`) says how many are left out: read the list again then.",
    headers: { "Last-Event-ID": headers.lastEventId },
    responses: { 200: { description: "The events.", type: "text/event-stream" } },
    handle({ kit: { executor }, header }) {
      const firstPage = () => executor.listExecutions({ limit: FIRST_PAGE, withData: false });
      return {
        status: 200,
        stream: (wake) => feedOf(executor.events).open(header("last-event-id"), firstPage, wake),
      };
    },
  });
}
