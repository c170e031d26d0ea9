// The server under load: one Express route, bare or with a step that does the same work.
import { once } from "node:events";
import express from "express";
import { respond, skill, skillErrors, skills } from "express-skills";

const [kind, database] = process.argv.slice(2);
const app = express();
app.use(express.json());

/** @param {{ text: string }} input */
const work = ({ text }) => ({ length: text.length });

if (kind === "bare") {
  app.post("/", (req, res) => {
    res.json(work(req.body));
  });
} else {
  const kit = skills({ database });
  const measure = kit.define({
    name: "measure",
    schema: {
      type: "object",
      properties: { text: { type: "string", minLength: 1 } },
      required: ["text"],
      additionalProperties: false,
    },
    handler: work,
  });
  app.use(kit);
  app.post("/", skill(measure), respond());
  await kit.ready();
}
app.use(skillErrors());

const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const address = server.address();
process.send?.(typeof address === "object" ? address?.port : undefined);
process.once("disconnect", () => process.exit());
