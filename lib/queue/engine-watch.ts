import type { SandboxRunner } from "../types.js";

/** How long an answer of the engine counts. */
const ANSWER_MS = 10_000;

/** Whether a container engine answers here, as far as is known; asked for in the background, when work needs one. */
export class EngineWatch {
  readonly #sandbox: Pick<SandboxRunner, "describe">;
  readonly #onAnswer: () => void;
  #answers = false;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #isAsking = false;

  /** `onAnswer` is told when an engine begins to answer. */
  constructor(sandbox: Pick<SandboxRunner, "describe">, onAnswer: () => void) {
    this.#sandbox = sandbox;
    this.#onAnswer = onAnswer;
  }

  /** As far as is known, without asking. */
  get isKnownToAnswer(): boolean {
    return this.#answers;
  }

  get answers(): boolean {
    if (!this.#isAsking && performance.now() - this.#askedAtMs > ANSWER_MS) void this.#ask();
    return this.#answers;
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    const didAnswer = this.#answers;
    this.#answers = await this.#sandbox.describe().then(
      () => true,
      () => false,
    );
    this.#askedAtMs = performance.now();
    this.#isAsking = false;
    if (this.#answers && !didAnswer) this.#onAnswer();
  }
}
