import express, { type NextFunction, type Request, type Response } from "express";
import { parallel, type RequestSkills, respond, skill, skillErrors, skills } from "../../middleware/index.js";
import { same } from "./equal.js";

const kit = skills({ database: ":memory:", identify: (req: Request) => ({ apiKeyId: req.get("x-key") ?? "none" }) });
const summarize = kit.define({
  name: "summarize",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: ({ text }) => ({ summary: text }),
});

const app = express().use(express.json()).use(kit);

app.get("/items/:id", skill(summarize), (req, res) => {
  same<typeof req.params.id, string>();
  same<typeof req.skills, RequestSkills>();
  res.json(req.skills.result(summarize).summary);
});
app.post("/:a/:b", kit, parallel(skill(summarize), skill("other@1")), respond(), (req, res) => {
  same<typeof req.params.b, string>();
  // @ts-expect-error the path has no such parameter
  res.json(req.params.c);
});
app.use("/used", kit, skill(summarize), respond("summarize"));
express.Router({ mergeParams: true }).post("/x", skill(summarize), respond());

const isAdmin = (req: Request) => req.get("x-role") === "admin";
app.post("/when", skill(summarize, { when: isAdmin, onError: (_error, req: Request) => ({ summary: req.ip ?? "" }) }), respond());

export function handler(req: Request, res: Response, next: NextFunction): void {
  const { results, errors, apiKeyId } = req.skills;
  same<typeof results.whatever, unknown>();
  same<typeof apiKeyId, string | undefined>();
  req.skills.run(summarize, { text: String(errors.summarize?.code) }).then((output) => res.json(output.summary), next);
}

app.use(skillErrors());
app.use(skillErrors({ logger: undefined }));
