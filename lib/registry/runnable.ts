import { LRUCache } from "lru-cache";
import { type Fault, SkillError } from "../errors.js";
import { readSkillContent } from "../store/skills.js";
import type { Store } from "../store/store.js";
import type { MaybePromise, SchemaObject, SensitiveMarks, Skill, SkillHead } from "../types.js";
import { damaged, decodeContent, type SkillContent } from "./content.js";
import { invalidDefinition } from "./definition.js";
import { toSkill } from "./head.js";
import { type CompiledSchema, SchemaCompiler, SchemaRefusal } from "./schema/compiler.js";
import type { Validate } from "./schema/validator.js";

/** A skill with everything that a call needs, compiled. */
export interface RunnableSkill {
  readonly skill: Skill;
  /** Faults of an input; empty when it is valid. It neither changes nor keeps the value, and never throws. */
  readonly validateInput: Validate;
  /** The same for an output; without an `outputSchema` every output is valid. */
  readonly validateOutput: Validate;
  /** Where the schemas mark values with `writeOnly` or `x-sensitive`; `undefined` when nowhere. */
  readonly inputMarks: SensitiveMarks | undefined;
  readonly outputMarks: SensitiveMarks | undefined;
}

interface CompiledContent {
  readonly content: SkillContent;
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
}

const MAX_COMPILED = 1_000;
/** Characters of the contents whose compiled form is kept. */
const MAX_COMPILED_CHARS = 16 * 1024 * 1024;
const ANYTHING: CompiledSchema = Object.freeze({ validate: () => [], marks: undefined });

/** Contents, read and compiled on first use, and kept while they are used. Skills with the same content share it. */
export class RunnableSkills {
  readonly #compiler = new SchemaCompiler();
  readonly #compiled = new LRUCache<string, CompiledContent>({ max: MAX_COMPILED, maxSize: MAX_COMPILED_CHARS });
  readonly #runnables = new LRUCache<SkillHead, RunnableSkill>({ max: MAX_COMPILED });
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /**
   * @throws SKILL_NOT_FOUND it was removed in this moment
   * @throws STORED_SKILL_INVALID its content was damaged in the database
   */
  get(head: SkillHead): MaybePromise<RunnableSkill> {
    const known = this.#runnables.get(head);
    if (known !== undefined) return known;
    const compiled = this.#compiled.get(head.contentHash);
    if (compiled !== undefined) return this.#remember(head, compiled);
    const row = this.#store.read(readSkillContent(head.id));
    return row instanceof Promise ? row.then((later) => this.#load(head, later)) : this.#load(head, row);
  }

  /**
   * Compiles the content of a definition, and keeps it for its first call.
   * @throws INVALID_DEFINITION with the faults of both schemas
   */
  prepare(content: SkillContent, encoded: { readonly text: string; readonly hash: string }): void {
    if (this.#compiled.has(encoded.hash)) return;
    const faults: Fault[] = [];
    const input = this.#attempt(content.schema, content, "/schema", faults);
    const output =
      content.outputSchema === null ? ANYTHING : this.#attempt(content.outputSchema, content, "/outputSchema", faults);
    if (input === undefined || output === undefined) throw invalidDefinition(faults);
    this.#keep(encoded.hash, encoded.text, { content, input, output });
  }

  clear(): void {
    this.#compiled.clear();
    this.#runnables.clear();
  }

  #load(head: SkillHead, row: { readonly content: string; readonly content_hash: string } | undefined): RunnableSkill {
    if (row === undefined) throw new SkillError("SKILL_NOT_FOUND", `There is no skill ${head.name}@${head.version}.`);
    // Replaced since the head was read: the row is the newer truth.
    const current = row.content_hash === head.contentHash ? head : { ...head, contentHash: row.content_hash };
    const content = decodeContent(row.content, row.content_hash, head);
    const compiled = this.#compileStored(content, head);
    this.#keep(row.content_hash, row.content, compiled);
    return current === head ? this.#remember(head, compiled) : toRunnable(current, compiled);
  }

  #compileStored(content: SkillContent, head: SkillHead): CompiledContent {
    const faults: Fault[] = [];
    const input = this.#attempt(content.schema, content, "/schema", faults);
    const output =
      content.outputSchema === null ? ANYTHING : this.#attempt(content.outputSchema, content, "/outputSchema", faults);
    if (input !== undefined && output !== undefined) return { content, input, output };
    throw damaged(head, faults.map(({ pointer, message }) => `${pointer} ${message}`).join("; "));
  }

  #attempt(schema: SchemaObject, { patterns }: SkillContent, pointer: string, faults: Fault[]): CompiledSchema | undefined {
    try {
      return this.#compiler.compile(schema, patterns);
    } catch (error) {
      if (!(error instanceof SchemaRefusal)) throw error;
      faults.push(...error.faults.map((fault) => ({ pointer: pointer + fault.pointer, message: fault.message })));
      return undefined;
    }
  }

  #keep(hash: string, text: string, compiled: CompiledContent): void {
    this.#compiled.set(hash, compiled, { size: text.length + 1 });
  }

  #remember(head: SkillHead, compiled: CompiledContent): RunnableSkill {
    const runnable = toRunnable(head, compiled);
    this.#runnables.set(head, runnable);
    return runnable;
  }
}

function toRunnable(head: SkillHead, { content, input, output }: CompiledContent): RunnableSkill {
  return Object.freeze({
    skill: toSkill(head, content),
    validateInput: input.validate,
    validateOutput: output.validate,
    inputMarks: input.marks,
    outputMarks: output.marks,
  });
}
