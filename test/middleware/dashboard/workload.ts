import { setTimeout as sleep } from "node:timers/promises";
import { vi } from "vitest";
import type { SkillsMiddleware } from "../../../middleware/index.js";
import { shellImage } from "../../engines/engines.js";

/** Skills as an application might have them: quick, slow, failing, nested, and one that waits until it is told to go on. */
export interface Workload {
  /** Lets every waiting call of `importCatalogue` say that it is so far, with a line for the log. */
  report(fraction: number, message: string): void;
  /** Lets every waiting call of `importCatalogue` end. */
  finish(): void;
}

export function defineWorkload(kit: SkillsMiddleware): Workload {
  const waiting = new Set<{ report(fraction: number, message: string): void; finish(): void }>();
  defineText(kit);
  defineShop(kit);
  kit.define({
    name: "importCatalogue",
    version: "1.4.0",
    description: "Reads the supplier's catalogue and updates prices and stock.",
    tags: ["shop", "nightly"],
    schema: {
      type: "object",
      properties: { supplier: { type: "string", maxLength: 60 }, dryRun: { type: "boolean", default: false } },
      required: ["supplier"],
    },
    timeoutMs: 120_000,
    concurrency: { limit: 4, queue: 20 },
    handler: (_input, context) =>
      new Promise((resolve, reject) => {
        const call = {
          report(fraction: number, message: string) {
            context.progress(fraction, message);
            context.log(message, { part: Math.round(fraction * 10) });
          },
          finish() {
            waiting.delete(call);
            resolve({ updated: 1_284, added: 17 });
          },
        };
        waiting.add(call);
        context.signal.addEventListener("abort", () => {
          waiting.delete(call);
          reject(context.signal.reason);
        });
      }),
  });
  return {
    report: (fraction, message) => {
      for (const call of waiting) call.report(fraction, message);
    },
    finish: () => {
      for (const call of waiting) call.finish();
    },
  };
}

function defineText(kit: SkillsMiddleware): void {
  const schema = {
    type: "object",
    properties: {
      text: { type: "string", minLength: 1, description: "What is to be summed up." },
      sentences: { type: "integer", minimum: 1, maximum: 20, default: 3 },
      language: { enum: ["en", "de", "fr"] },
      keywords: { type: "array", items: { type: "string", minLength: 2, maxLength: 40 }, maxItems: 5 },
    },
    required: ["text", "sentences"],
    additionalProperties: false,
  } as const;
  for (const version of ["1.0.0", "1.1.0", "2.0.0"])
    kit.define({
      name: "summarizeText",
      version,
      description: "Sums up a text in its own most telling sentences.",
      tags: ["text"],
      schema,
      retry: { limit: 1 },
      handler: async ({ text = "", sentences = 3 }: { text?: string; sentences?: number }, context) => {
        await sleep(8 + ((text.length * 7) % 40));
        context.log("Scored the sentences", { sentences });
        return { summary: text.split(". ").slice(0, sentences), characters: text.length };
      },
    });
}

function defineShop(kit: SkillsMiddleware): void {
  kit.define({
    name: "@shop/price-quote",
    version: "3.2.1",
    description: "Asks the carriers for the price of a parcel.",
    tags: ["shop", "prices"],
    schema: {
      type: "object",
      properties: {
        weightKg: { type: "number", exclusiveMinimum: 0, maximum: 70 },
        to: {
          type: "object",
          properties: { country: { type: "string", pattern: "^[A-Z]{2}$" }, postcode: { type: "string", maxLength: 12 } },
          required: ["country", "postcode"],
        },
        express: { type: "boolean" },
      },
      required: ["weightKg", "to"],
    },
    timeoutMs: 60,
    handler: async ({ weightKg = 1 }: { weightKg?: number }) => {
      await sleep(weightKg > 40 ? 500 : 6 + (weightKg % 30));
      return { carrier: "Parcel Post", priceEur: Math.round(weightKg * 137) / 100 };
    },
  });
  kit.define({
    name: "sendReminder",
    version: "1.0.3",
    description: "Writes to a customer whose invoice is due.",
    tags: ["mail"],
    schema: { type: "object", properties: { invoice: { type: "integer" } }, required: ["invoice"] },
    handler: async ({ invoice = 0 }: { invoice?: number }) => {
      await sleep(5 + (invoice % 9));
      if (invoice % 3 === 0) throw new Error("The mail server refused the address: 550 no such user");
      return { sent: true };
    },
  });
  kit.define({
    name: "weeklyReport",
    version: "1.0.0",
    description: "Puts the week's figures together and sums them up.",
    tags: ["text", "nightly"],
    schema: { type: "object", properties: { week: { type: "integer", minimum: 1, maximum: 53 } }, required: ["week"] },
    handler: async ({ week = 1 }: { week?: number }, context) => {
      await sleep(10);
      const quotes = await Promise.all(
        [2, 9].map((weightKg) => context.run("@shop/price-quote", { weightKg, to: { country: "DE", postcode: "10115" } })),
      );
      context.log("Have the figures", { quotes: quotes.length });
      const { output } = await context.execute("summarizeText@^1", {
        text: `Week ${week}. Sales rose. Returns fell. `.repeat(4),
        sentences: 2,
      });
      return { week, quotes, summary: output };
    },
  });
}

/** A skill that needs a container engine. */
export function defineContainer(kit: SkillsMiddleware): void {
  kit.define({
    name: "wordCount",
    version: "1.0.0",
    description: "Counts words in a container of its own.",
    tags: ["text", "container"],
    schema: { type: "object", properties: { text: { type: "string", maxLength: 10_000 } }, required: ["text"] },
    timeoutMs: 30_000,
    container: {
      image: shellImage,
      command: ["sh", "-c", 'read -r line; echo counting >&2; echo "$line" | wc -w'],
      warm: 2,
    },
  });
}

/** A day of calls, at times of the past: only the clock is not the real one. */
export async function runHistory(kit: SkillsMiddleware, hours: number, callsPerHour: (hour: number) => number): Promise<void> {
  await kit.ready();
  const now = Date.now();
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    for (let hour = hours; hour >= 1; hour--) {
      vi.setSystemTime(now - hour * 3_600_000 + 60_000);
      const count = callsPerHour(hour);
      await Promise.all(Array.from({ length: count }, (_, index) => callSomething(kit, hour * 17 + index)));
    }
  } finally {
    vi.useRealTimers();
  }
}

async function callSomething({ executor }: SkillsMiddleware, number: number): Promise<void> {
  const call = { apiKeyId: number % 4 === 0 ? "storefront" : "backoffice", sessionId: `session-${number % 7}` };
  const text = "The cat sat on the mat. It rained all day. The garden is green. ".repeat(1 + (number % 3));
  const calls = [
    () => executor.execute("summarizeText", { text, sentences: 2 }, call),
    () => executor.execute("@shop/price-quote", { weightKg: 1 + (number % 47), to: { country: "DE", postcode: "10115" } }, call),
    () => executor.execute("sendReminder", { invoice: Math.floor(number / 6) }, call),
    () => executor.execute("summarizeText@1.0.0", { text, sentences: 1 }, call),
    () =>
      executor.execute(
        "@shop/price-quote",
        { weightKg: 3, to: { country: number % 5 === 0 ? "Germany" : "AT", postcode: "1010" } },
        call,
      ),
    () => executor.execute("weeklyReport", { week: 1 + (number % 52) }, call),
  ];
  // A refusal is part of a normal day.
  await calls[number % calls.length]?.().catch(() => {});
}
