import { isSkillError, SkillError, type StatsBucket } from "../../../lib/index.js";
import { parameters } from "../parameters.js";
import { defineRoute } from "../route.js";
import { parseTime } from "../time.js";

interface Query {
  readonly from?: string;
  readonly to?: string;
  readonly bucket?: StatsBucket;
  readonly skill?: string;
  readonly owner?: string;
}

export const getStats = defineRoute<Query>({
  method: "GET",
  path: "stats",
  role: "operator",
  id: "getStats",
  summary: "Executions by status, time and skill",
  description:
    "Of the last 24 hours unless `from` and `to` say otherwise; of the newest 100,000 executions of that time, with percentiles over the newest 20,000.",
  query: {
    from: parameters.from,
    to: parameters.to,
    bucket: { type: "string", enum: ["minute", "hour", "day"], description: "Default: by the length of the time." },
    skill: parameters.name,
    owner: parameters.owner,
  },
  responses: { 200: { description: "The statistics.", body: "Stats" } },
  async handle({ kit, query }) {
    const [from, to] = [parseTime("from", query.from), parseTime("to", query.to)];
    try {
      const { bucket, skill: skillName, owner: apiKeyId } = query;
      return { status: 200, body: await kit.executor.executionStats({ from, to, bucket, skillName, apiKeyId }) };
    } catch (error) {
      // A time that is too long for its buckets.
      if (isSkillError(error) && error.code === "INVALID_OPTION") throw new SkillError("INVALID_REQUEST", error.message);
      throw error;
    }
  },
});
