import { type Fault, SkillError } from "../errors.js";
import type { ParsedReference } from "../registry/reference.js";
import type { RunnableSkill, SkillRegistry } from "../registry/registry.js";
import type { MaybePromise, Skill, SkillHead } from "../types.js";
import type { Handlers, InputParser, ParsedInput, RegisteredHandler } from "./handlers.js";
import type { JsonCheck } from "./json.js";
import { toFailure } from "./outcome.js";

const MAX_DEPTH = 16;
const SWITCHED_OFF_RETRY_AFTER_MS = 30_000;

/** A call that may start. */
export interface Admitted {
  readonly runnable: RunnableSkill;
  readonly handler: RegisteredHandler;
  /** What the handler receives. */
  readonly input: unknown;
}

/**
 * Finds the skill that a call runs, and that it may run: `chain` names the calls around it.
 * @throws SKILLS_DISABLED SKILL_NOT_FOUND SKILL_DISABLED SKILL_OFF DEPTH_EXCEEDED STORED_SKILL_INVALID STORE_UNAVAILABLE
 */
export function findRunnable(
  registry: SkillRegistry,
  reference: ParsedReference,
  apiKeyId: string,
  chain: readonly string[],
): MaybePromise<RunnableSkill> {
  const head = registry.resolve(reference, apiKeyId);
  if (head instanceof Promise) return head.then((found) => runnableOf(registry, found, chain));
  return runnableOf(registry, head, chain);
}

function runnableOf(registry: SkillRegistry, head: SkillHead, chain: readonly string[]): MaybePromise<RunnableSkill> {
  checkSwitches(registry, head);
  if (chain.length >= MAX_DEPTH) {
    throw new SkillError(
      "DEPTH_EXCEEDED",
      `Skills may call each other ${MAX_DEPTH} deep; the chain is ${[...chain, nameOf(head)].join(" > ")}.`,
    );
  }
  return registry.runnable(head);
}

function checkSwitches(registry: SkillRegistry, head: SkillHead): undefined {
  if (!registry.skillsEnabled) {
    const message = "Skills are switched off for this server (settings.skillsEnabled is false).";
    throw new SkillError("SKILLS_DISABLED", message, { retryAfterMs: SWITCHED_OFF_RETRY_AFTER_MS });
  }
  if (head.mode === "off") throw new SkillError("SKILL_OFF", `${nameOf(head)} is switched off (its mode is "off").`);
}

/**
 * Sees that the version which was found when a call began may still be run, as fresh as that was; for calls that have waited since. Nothing to
 * wait for while the catalogue is fresh.
 * @throws SKILLS_DISABLED SKILL_NOT_FOUND SKILL_DISABLED SKILL_OFF STORE_UNAVAILABLE
 */
export function checkStillRunnable(registry: SkillRegistry, skill: Skill): MaybePromise<undefined> {
  const head = registry.resolve({ name: skill.name, range: skill.version }, skill.apiKeyId);
  return head instanceof Promise ? head.then((found) => checkSame(registry, found, skill)) : checkSame(registry, head, skill);
}

function checkSame(registry: SkillRegistry, head: SkillHead, skill: Skill): undefined {
  if (head.id !== skill.id) throw isGone(skill);
  checkSwitches(registry, head);
}

/**
 * Sees that the version which was chosen when work was enqueued was not replaced by another owner's: an owner whose last version of a name was
 * removed sees the one of `system` that has the same version.
 * @throws SKILL_NOT_FOUND
 */
export function checkOwner(skill: Skill, owner: string): void {
  if (skill.apiKeyId !== owner) throw isGone(skill);
}

function isGone(skill: Skill): SkillError {
  return new SkillError("SKILL_NOT_FOUND", `There is no skill ${nameOf(skill)} any more.`);
}

function nameOf({ name, version }: Pick<SkillHead, "name" | "version">): string {
  return `${name}@${version}`;
}

/**
 * Finds the handler and checks the input.
 * @throws HANDLER_NOT_FOUND INVALID_INPUT
 */
export function admit(runnable: RunnableSkill, handlers: Handlers, sent: JsonCheck): MaybePromise<Admitted> {
  const handler = handlers.get(runnable.skill);
  if (!sent.ok) throw invalidInput(runnable, [sent.fault]);
  return parseInput(runnable, handler, sent.value);
}

/**
 * Checks the input of work that may run in another process: by the handler's own parser where this one has it, else by the skill's schema.
 * @throws INVALID_INPUT; SKILL_FAILED when the parser itself throws
 */
export async function checkInput(runnable: RunnableSkill, handlers: Handlers, sent: JsonCheck): Promise<void> {
  if (!sent.ok) throw invalidInput(runnable, [sent.fault]);
  if (handlers.has(runnable.skill)) {
    await parseInput(runnable, handlers.get(runnable.skill), sent.value);
    return;
  }
  const faults = runnable.validateInput(sent.value);
  if (faults.length > 0) throw invalidInput(runnable, faults);
}

/**
 * Checks an input by the handler's own parser when it has one, else by the skill's schema.
 * @throws INVALID_INPUT; SKILL_FAILED when the parser itself throws
 */
export function parseInput(runnable: RunnableSkill, handler: RegisteredHandler, sent: unknown): MaybePromise<Admitted> {
  if (handler.parseInput !== undefined) return parseByHandler(runnable, handler, handler.parseInput, sent);
  const faults = runnable.validateInput(sent);
  if (faults.length > 0) throw invalidInput(runnable, faults);
  return { runnable, handler, input: sent };
}

async function parseByHandler(
  runnable: RunnableSkill,
  handler: RegisteredHandler,
  parse: InputParser,
  sent: unknown,
): Promise<Admitted> {
  let parsed: ParsedInput;
  try {
    parsed = await parse(sent);
  } catch (thrown) {
    throw toFailure(thrown).error;
  }
  if (parsed.faults !== undefined) throw invalidInput(runnable, parsed.faults);
  return { runnable, handler, input: parsed.value };
}

function invalidInput({ skill }: RunnableSkill, faults: readonly Fault[]): SkillError {
  const first = faults[0];
  const where = first === undefined || first.pointer === "" ? "the input" : `the input at ${first.pointer}`;
  const message = `${skill.name}@${skill.version}: ${where} ${first?.message ?? "does not match the schema"}.`;
  return new SkillError("INVALID_INPUT", message, { faults });
}
