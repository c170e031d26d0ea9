import { expect, onTestFinished, test } from "vitest";
import { newKit, post, serve, versions } from "./servers.js";

test.each(versions)(
  "thirty calls at once, from a route or inside a skill, warn of no listener leak on Express $version",
  async ({ express }) => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on("warning", onWarning);
    onTestFinished(() => void process.off("warning", onWarning));
    const kit = newKit();
    const leaf = kit.define({
      name: "leaf",
      schema: { type: "object" },
      handler: async (_, { signal }) => {
        for (let listener = 0; listener < 30; listener++) signal.addEventListener("abort", () => {});
        await new Promise((resolve) => setImmediate(resolve));
        return 1;
      },
    });
    const thirty = <T>(call: () => Promise<T>) => Promise.all(Array.from({ length: 30 }, call));
    const top = kit.define({
      name: "top",
      schema: { type: "object" },
      handler: (_, context) => thirty(() => context.run(leaf, {})),
    });
    const app = express().use(express.json()).use(kit);
    app.post("/", (req, res, next) => {
      Promise.all([thirty(() => req.skills.run(leaf, {})), req.skills.run(top, {})]).then(
        ([one, two]) => res.json([...one, ...two]),
        next,
      );
    });
    const { status, body } = await post(await serve(app), {});
    expect(status).toBe(200);
    expect(body).toHaveLength(60);
    expect(warnings).toEqual([]);
  },
);
