import { type Enqueued, insertWork } from "./queued-work.js";
import type { ExecutionRow, QueuedWorkRow } from "./rows.js";
import type { Store } from "./store.js";

/** Commits an execution, its work and its job together, in as few round trips as can be: what has a job key needs several. */
export async function enqueueWork(store: Store, execution: ExecutionRow, work: QueuedWorkRow): Promise<Enqueued> {
  const { jobs } = store;
  if (jobs === undefined || work.job_key !== null) return store.write(() => insertWork(execution, work, jobs?.schema));
  return { end: await jobs.insertWork(execution, work) };
}
