import type { SkillExecution, StartedCall } from "../../lib/index.js";
import type { WaitPreference } from "./prefer.js";
import type { ApiReply, ApiRequest } from "./route.js";
import { showExecution } from "./show.js";

/** The answer to a call: its execution once it has ended, or where it will be found when that is not soon enough for the client. */
export async function replyToStarted(
  { kit, caller, link }: Pick<ApiRequest, "kit" | "caller" | "link">,
  { id, isReplay, ended, stored }: StartedCall,
  preference: WaitPreference | undefined,
): Promise<ApiReply> {
  const headers = { Location: link(`executions/${id}`) };
  const applied = preference === undefined ? {} : { "Preference-Applied": preference.applied };
  const execution = preference === undefined ? await ended : await endedWithin(ended, preference.waitS * 1_000);
  if (execution !== undefined) {
    const status = isReplay ? 200 : 201;
    return { status, body: showExecution(caller, execution), headers: { ...headers, ...applied } };
  }
  // Where it will be found, it is found from now on, whichever process is asked and whatever becomes of this one.
  await stored();
  const begun = await kit.executor.getExecution(id);
  // Ended just now, with an audit that keeps no rows.
  const body = begun ?? (await ended);
  return { status: 202, body: showExecution(caller, body), headers: { ...headers, ...applied } };
}

/** The answer to work that was enqueued: where its execution will be found; the stored answer when an earlier request with its key has one. */
export function replyToQueued(
  { caller, link }: Pick<ApiRequest, "caller" | "link">,
  execution: SkillExecution<unknown>,
  { applied }: WaitPreference,
): ApiReply {
  const isWaiting = execution.finishedAt === null;
  const headers = { Location: link(`executions/${execution.id}`), "Preference-Applied": applied };
  const body = showExecution(caller, execution);
  return isWaiting ? { status: 202, body, headers: { ...headers, "Retry-After": "1" } } : { status: 200, body, headers };
}

async function endedWithin(
  ended: Promise<SkillExecution<unknown>>,
  waitMs: number,
): Promise<SkillExecution<unknown> | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, waitMs, undefined);
  });
  try {
    return await Promise.race([ended, over]);
  } finally {
    clearTimeout(timer);
  }
}
