import { z } from "zod";
import { type RequestSkills, type SkillStep, skill, skills } from "../../middleware/index.js";
import { same } from "./equal.js";

const kit = skills({ database: ":memory:" });

const summarize = kit.define({
  name: "summarize",
  schema: { type: "object", properties: { text: { type: "string" }, max: { type: "integer" } }, required: ["text"] },
  handler: ({ text, max }, context) => {
    same<typeof text, string>();
    same<typeof max, number | undefined>();
    same<typeof context.attempt, number>();
    return { summary: text.slice(0, max) };
  },
});

const parse = kit.define({
  name: "parse",
  schema: z.object({ n: z.coerce.number<string>(), unit: z.string().default("m") }),
  handler: async ({ n, unit }) => {
    same<typeof n, number>();
    same<typeof unit, string>();
    return { n, unit };
  },
});

export async function handlesTypeWhatTheyAreGivenTo(req: { readonly skills: RequestSkills }): Promise<void> {
  const output = await kit.executor.run(summarize, { text: "a" });
  same<typeof output, { summary: string }>();
  const execution = await kit.executor.execute(parse, { n: "1" });
  same<typeof execution.output, { n: number; unit: string } | null>();

  const own = await req.skills.run(summarize, { text: "a", max: 3 });
  same<typeof own, { summary: string }>();
  const ownExecution = await req.skills.execute(summarize, { text: "a" });
  same<typeof ownExecution.output, { summary: string } | null>();
  const result = req.skills.result(parse);
  same<typeof result, { n: number; unit: string }>();

  const untyped = await req.skills.run("summarize@^1", { anything: true });
  same<typeof untyped, unknown>();
  const asserted = await req.skills.run<{ summary: string }>("summarize@^1", {});
  same<typeof asserted, { summary: string }>();

  // @ts-expect-error the input has no text
  await req.skills.run(summarize, {});
  // @ts-expect-error the text is not a string
  await req.skills.run(summarize, { text: 1 });
  // @ts-expect-error the Standard Schema takes text and makes a number of it
  await req.skills.run(parse, { n: 1 });
  // @ts-expect-error the caller is the request's own
  await req.skills.run(summarize, { text: "a" }, { apiKeyId: "root" });
  // @ts-expect-error a handle is needed for a typed result
  req.skills.result("summarize");
}

export const steps: SkillStep[] = [
  skill(summarize),
  skill("summarize@^1.0.0"),
  skill(summarize, { input: { text: "a" } }),
  skill(summarize, { input: ({ body, results }) => ({ text: body.text ?? results.text }) }),
  skill("summarize", { input: async ({ params, query }) => ({ text: params.id, max: query.max }) }),
  skill("summarize", { input: { anything: [1] }, onError: () => undefined }),
  skill(summarize, { onError: (error, req) => ({ summary: `${error.code} at ${req.originalUrl}` }) }),
  skill(summarize, { onError: "continue", when: async (req) => req.method === "POST" }),
  skill(summarize, { input: undefined, as: undefined, when: undefined, timeoutMs: undefined, onError: undefined }),
  // @ts-expect-error the input has no text
  skill(summarize, { input: { max: 1 } }),
  // @ts-expect-error the fallback is not what the skill gives
  skill(summarize, { onError: () => 1 }),
  // @ts-expect-error an unknown word
  skill(summarize, { onError: "ignore" }),
  // @ts-expect-error a misspelt option
  skill(summarize, { tiemoutMs: 1 }),
];

kit.define({
  name: "nested",
  schema: { type: "object" },
  handler: async (_input, context) => {
    const output = await context.run(summarize, { text: "a" });
    same<typeof output, { summary: string }>();
    return output;
  },
});

const contained = kit.define({
  name: "contained",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  outputSchema: { type: "object", properties: { words: { type: "integer" } }, required: ["words"] },
  container: { image: "node:22-alpine", command: ["node", "main.mjs"] },
});
export const ofContainer = async () => {
  const output = await kit.executor.run(contained, { text: "a" });
  same<typeof output, { [x: string]: unknown; words: number }>();
  // @ts-expect-error the input has no text
  await kit.executor.run(contained, {});
};
const untyped = kit.define({ name: "untyped", schema: { type: "object" }, container: { image: "a", command: ["b"] } });
export const ofUntyped = async () => {
  const output = await kit.executor.run(untyped, {});
  same<typeof output, unknown>();
};
// @ts-expect-error either a handler or a container
kit.define({ name: "both", schema: {}, handler: () => 1, container: { image: "a", command: ["b"] } });

// @ts-expect-error a misspelt option
skills({ databse: ":memory:" });
skills({ database: undefined, identify: undefined });
skills({ identify: (req) => ({ apiKeyId: String(req.headers["x-key"]) }) });
skills({ identify: async () => null });
// @ts-expect-error no apiKeyId
skills({ identify: () => ({ key: "a" }) });
