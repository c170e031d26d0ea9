import type { SkillsApiOptions } from "../api/options.js";
import type { SkillsHandler } from "../types.js";
import { createDashboard } from "./router.js";

/** What `skillsApi()` takes: the dashboard serves that API to its page. */
export type SkillsDashboardOptions = SkillsApiOptions;

/**
 * A page for the people who run skills, as a middleware to be mounted at a path of its own: `app.use("/skills", skillsDashboard({ authorize }))`.
 * Below it, `api/` is the REST API, and all that the page shows comes from there.
 *
 * The page itself holds no data and is served to everybody. Each request of it to the API is put to `authorize(req)`, with what the browser
 * sends by itself: cookies, HTTP Basic, a client certificate. A token that is entered in the page, or stands behind `#token=` in its address,
 * is sent as `Authorization: Bearer`, and kept in that tab only. To hide the page as well, mount a middleware that signs people in before it.
 *
 * Works below any path, on Express 4 and 5, behind proxies that strip a prefix, and under helmet's default content security policy, besides
 * which it sends a stricter one for its own page.
 *
 * @throws INVALID_OPTION without `authorize`: there is no open dashboard
 * @since 0.1.0
 */
export function skillsDashboard(options: SkillsDashboardOptions): SkillsHandler {
  return createDashboard(options, new URL("./page/", import.meta.url));
}
