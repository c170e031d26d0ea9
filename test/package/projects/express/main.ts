import assert from "node:assert/strict";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import express, { type NextFunction, type Request, type Response } from "express";
import { parallel, respond, SkillError, type SkillExecution, skill, skillErrors, skills } from "express-skills";
import { z } from "zod";

declare module "express-skills" {
  interface SkillResults {
    loud: { text: string };
  }
}

declare global {
  namespace Express {
    interface Request {
      user?: { readonly id: string };
    }
  }
}

/** As applications that know who is logged in declare it. */
interface AuthenticatedRequest extends Request {
  user: { readonly id: string };
}

const kit = skills({ database: "typescript.db", identify: () => ({ apiKeyId: "tester" }) });

const count = kit.define({
  name: "count",
  schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: ({ text }, context) => ({ length: text.length, caller: context.apiKeyId }),
});
const loud = kit.define({
  name: "loud",
  schema: z.object({ text: z.string().trim() }),
  handler: ({ text }) => ({ text: text.toUpperCase() }),
});

const app = express();
app.use(express.json());
app.use((req: Request, _res: Response, next: NextFunction) => {
  req.user = { id: "u1" };
  next();
});
app.use(kit);
app.post("/:id/both", parallel(skill(count), skill(loud)), (req, res) => {
  const id: string = req.params.id;
  const length: number = req.skills.result(count).length;
  const text: string = req.skills.results.loud.text;
  res.json({ id, length, text, user: (req as AuthenticatedRequest).user.id });
});
app.get("/count", skill(count), respond());
app.get("/run", async (req: Request, res, next) => {
  try {
    const execution: SkillExecution<{ length: number; caller: string }> = await req.skills.execute(count, { text: "four" });
    res.json(execution.output);
  } catch (error) {
    next(error);
  }
});
app.use(skillErrors());

// Never called: these must not compile.
export async function mistakes(req: Request): Promise<void> {
  // @ts-expect-error the schema says that the text is a string
  await req.skills.run(count, { text: 1 });
  // @ts-expect-error there is no such option
  skills({ databse: "x.db" });
  // @ts-expect-error nor such a result
  req.skills.result(count).width;
}

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

const both = await fetch(`${url}/7/both`, {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ text: " hi " }),
});
assert.deepEqual(await both.json(), { id: "7", length: 4, text: "HI", user: "u1" });
assert.deepEqual(await (await fetch(`${url}/count?text=123`)).json(), { length: 3, caller: "tester" });
assert.deepEqual(await (await fetch(`${url}/run`)).json(), { length: 4, caller: "tester" });
await assert.rejects(kit.executor.run("nothing", {}), (error) => error instanceof SkillError && error.code === "SKILL_NOT_FOUND");

server.close();
await kit.close();
console.log("works");
