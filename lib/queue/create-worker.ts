import { JobWorker } from "./job-worker.js";
import type { WorkerConfig } from "./options.js";
import { RowWorker } from "./row-worker.js";
import type { Worker, WorkerPlace, WorkerRooms } from "./worker.js";

/** A worker on the rows of the queue, or on jobs of graphile-worker where these stand for them. */
export function createWorker(rooms: WorkerRooms, config: WorkerConfig, place: WorkerPlace): Worker {
  const { jobs } = rooms.store;
  return jobs === undefined ? new RowWorker(rooms, config, place) : new JobWorker(rooms, jobs, config, place);
}
