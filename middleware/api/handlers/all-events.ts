import type { SkillsKit } from "../../../lib/index.js";
import { Feed } from "../events/feed.js";
import { headers } from "../parameters.js";
import { type AnyRoute, defineRoute } from "../route.js";

const FIRST_PAGE = 50;

/** Makes the row for one API: its streams share a feed of each kit. */
export function createAllEvents(): AnyRoute {
  const feeds = new WeakMap<SkillsKit["executor"], Feed>();
  const feedOf = (executor: SkillsKit["executor"]) => {
    const feed = feeds.get(executor) ?? new Feed(executor);
    feeds.set(executor, feed);
    return feed;
  };
  return defineRoute({
    method: "GET",
    path: "executions/events",
    role: "operator",
    id: "followExecutions",
    summary: "The status changes of all executions of every process, as Server-Sent Events",
    description:
      "First `state` (`{ items }`, the newest executions as in the list), then a `status` for each change, with the execution as in the list: at once when it runs in this process, else within about a second, and what began and ended within that second only as ended. When there are more than can be sent, `gap` (`{ changes }`) says how many at least are left out: read the list again then.",
    headers: { "Last-Event-ID": headers.lastEventId },
    responses: { 200: { description: "The events.", type: "text/event-stream" } },
    handle({ kit: { executor }, header }) {
      const firstPage = () => executor.listExecutions({ limit: FIRST_PAGE, withData: false });
      return {
        status: 200,
        stream: (wake) => feedOf(executor).open(header("last-event-id"), firstPage, wake),
      };
    },
  });
}
