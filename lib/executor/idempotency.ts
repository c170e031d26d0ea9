import { createHash } from "node:crypto";
import { SkillError } from "../errors.js";
import { canonicalJson } from "../registry/json.js";
import type { ParsedReference } from "../registry/reference.js";
import { findByIdempotencyKey } from "../store/executions.js";
import type { Store } from "../store/store.js";
import type { SkillExecution } from "../types.js";
import { fromRow } from "./record.js";

const IN_PROGRESS_RETRY_AFTER_MS = 1_000;

/** Tells whether two calls ask the same: the reference as written, so that a new version between them changes nothing, and the whole input, as JSON. */
export function hashRequest(reference: ParsedReference, inputText: string): string {
  return createHash("sha256")
    .update(`${reference.name}@${reference.range}\n${canonicalJson(JSON.parse(inputText))}`)
    .digest("hex");
}

/**
 * The stored execution of an earlier call of this owner with the same key, or `undefined` when there is none.
 * @throws IDEMPOTENCY_MISMATCH (another skill or input) IDEMPOTENCY_IN_PROGRESS (not finished) ANSWER_NOT_STORED (redacted or cut)
 */
export async function findEarlier(
  store: Store,
  apiKeyId: string,
  key: string,
  requestHash: string,
): Promise<SkillExecution<unknown> | undefined> {
  const row = await store.read(findByIdempotencyKey(apiKeyId, key));
  if (row === undefined) return undefined;
  const executionId = row.id;
  if (row.request_hash !== requestHash) throw mismatch(executionId);
  if (row.finished_at === null) throw inProgress(executionId);
  if (row.status === "SUCCESS" && row.output_state !== "whole")
    throw new SkillError(
      "ANSWER_NOT_STORED",
      `The answer of execution ${row.id} was stored ${row.output_state}, so it cannot be given again.`,
      {
        executionId,
      },
    );
  return fromRow(row);
}

export function mismatch(executionId: string): SkillError {
  const message = "This idempotency key was used for another skill or another input.";
  return new SkillError("IDEMPOTENCY_MISMATCH", message, { executionId });
}

export function inProgress(executionId?: string): SkillError {
  return new SkillError("IDEMPOTENCY_IN_PROGRESS", "A call with this idempotency key is running; try again later.", {
    retryAfterMs: IN_PROGRESS_RETRY_AFTER_MS,
    ...(executionId !== undefined && { executionId }),
  });
}
