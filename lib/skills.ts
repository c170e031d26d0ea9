import { type DefineSkill, prepareDefinition } from "./define.js";
import { Definitions } from "./definitions.js";
import { SkillError } from "./errors.js";
import { type Audit, noAudit } from "./executor/audit.js";
import { AuditWriter } from "./executor/audit-writer.js";
import { type ExecutorRooms, SkillExecutor } from "./executor/executor.js";
import { createIdSource } from "./executor/ids.js";
import { Instance } from "./executor/instances.js";
import { startRetention } from "./executor/retention.js";
import { createKitSandbox, type KitSandbox } from "./kit-sandbox.js";
import { parseSkillsOptions, type SkillsConfig, type SkillsOptions } from "./options.js";
import { KitWorkers } from "./queue/kit-workers.js";
import type { WorkerRooms } from "./queue/worker.js";
import { openRegistry, type Registry, SkillRegistry } from "./registry/registry.js";
import { openStore } from "./store/open.js";
import type { Store } from "./store/store.js";
import { createCallTelemetry } from "./telemetry/call-telemetry.js";
import { createMetrics } from "./telemetry/metrics.js";
import type { Logger, MaybePromise, SandboxRunner, SkillsWorker, WorkerOptions } from "./types.js";

/** A registry, an executor and the database behind them. */
export interface SkillsKit {
  readonly registry: Registry;
  readonly executor: SkillExecutor;
  readonly sandbox: SandboxRunner;
  readonly define: DefineSkill;
  readonly logger: Logger;
  /**
   * Opens the database, brings its tables up to date, loads the catalogue and registers what was defined. Every call does it
   * by itself; a server that wants to know before it listens awaits it. May be called again after it failed.
   * @throws STORE_UNAVAILABLE STORE_INVALID STORE_DRIVER_UNAVAILABLE; INVALID_DEFINITION SKILL_CONFLICT of a definition
   */
  ready(): Promise<void>;
  /**
   * Works off the queue until it is stopped or the kit is closed: it takes the work of skills whose handler this process has, and of containers
   * while an engine answers here. It keeps the process alive, and takes the place of the worker that the option `worker` is about. When the
   * database cannot be opened it tries again; on PostgreSQL without the package graphile-worker it takes nothing, and logs why.
   * @throws INVALID_OPTION also when the audit is off
   */
  startWorker(options?: WorkerOptions): SkillsWorker;
  /**
   * Refuses new calls, stops workers, waits up to `graceMs` (default 10,000) for those that run, ends the rest with SHUTTING_DOWN, removes
   * every container, writes the audit and closes the database. May be called again.
   */
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>;
}

const DEFAULT_GRACE_MS = 10_000;

/**
 * Makes a kit. Nothing is opened before `ready()` or the first call.
 * @throws INVALID_OPTION for an unknown or misspelt option, or a value out of its bounds
 * @since 0.1.0
 */
export function createSkills(options: SkillsOptions = {}): SkillsKit {
  const config = parseSkillsOptions(options);
  const { logger } = config;
  let open: OpenKit | undefined;
  let opening: Promise<OpenKit> | undefined;
  let closing: Promise<void> | undefined;

  const opened = (): Promise<OpenKit> => {
    if (closing !== undefined) throw new SkillError("SHUTTING_DOWN", "The kit is closed.");
    opening ??= openKit(config, kit, sandbox, () => workers.wake()).then(
      (made) => {
        open = made;
        return made;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  };
  /** Open, and with every definition tried: what a call needs. */
  const settled = async (): Promise<OpenKit> => {
    const made = open ?? (await opened());
    await definitions.register(made.registry);
    if (config.audit.enabled) workers.begin(workerRooms(made));
    return made;
  };
  const workerRooms = (made: OpenKit): WorkerRooms => ({ ...made, executor, sandbox: sandbox.runner, logger });
  const rooms = (): MaybePromise<ExecutorRooms> => (open !== undefined && definitions.isSettled ? open : settled());

  const sandbox = createKitSandbox(config.sandbox);
  const metrics =
    config.metrics &&
    createMetrics(config.metrics, { audit: () => executor.auditStats(), sandbox: () => sandbox.runner.stats() });
  const telemetry = createCallTelemetry(metrics);
  const executor = new SkillExecutor(
    { ...config, telemetry, maxBytes: config.audit.maxBytes, sandbox: sandbox.runner, containers: sandbox },
    rooms,
  );
  const definitions = new Definitions(executor, logger);
  const workers = new KitWorkers(async () => workerRooms(await settled()), config.worker, logger);
  const registry = openRegistry(async () => (await settled()).registry);
  const define = ((definition: Parameters<typeof prepareDefinition>[0]) =>
    definitions.add(prepareDefinition(definition))) as DefineSkill;

  const kit: SkillsKit = {
    registry,
    executor,
    sandbox: sandbox.runner,
    define,
    logger,
    async ready() {
      await settled();
      definitions.throwFault();
    },
    startWorker(options = {}) {
      if (!config.audit.enabled) throw new SkillError("INVALID_OPTION", "A worker needs the audit, which is off.");
      return workers.start(options);
    },
    close({ graceMs = DEFAULT_GRACE_MS } = {}) {
      closing ??= (async () => {
        // First, so that no call that ends starts another container ahead.
        sandbox.endSlots();
        await Promise.all([workers.stop(graceMs), executor.close(graceMs)]);
        await sandbox.close();
        const made = open ?? (await opening?.catch(() => undefined));
        await made?.close();
        metrics?.close();
      })();
      return closing;
    },
  };
  return kit;
}

interface OpenKit extends ExecutorRooms {
  close(): Promise<void>;
}

/** Opens the rooms in order; what is open when one fails is closed again. */
async function openKit(config: SkillsConfig, kit: SkillsKit, sandbox: KitSandbox, onEnqueue: () => void): Promise<OpenKit> {
  const { database, logger } = config;
  if (config.isDefaultDatabase) logger.info({ database }, "skills and their executions are kept in the working directory");
  const store = await openStore({ database, durability: config.audit.durability });
  try {
    const instance = new Instance(createIdSource()(), store, logger);
    const registry = new SkillRegistry({
      store,
      logger,
      containers: config.sandbox,
      onRegister: sandbox.prepare,
      onChange: sandbox.drain,
    });
    await registry.open();
    await instance.open();
    sandbox.recover();
    return { kit, store, registry, instanceId: instance.id, onEnqueue, ...startAudit(store, config, instance) };
  } catch (error) {
    await store.close();
    throw error;
  }
}

function startAudit(
  store: Store,
  { audit: config, logger }: SkillsConfig,
  instance: Instance,
): { audit: Audit; close(): Promise<void> } {
  const audit = config.enabled ? new AuditWriter(store, config, logger) : noAudit;
  const stopRetention = config.retentionDays === undefined ? () => {} : startRetention(store, config.retentionDays, logger);
  return {
    audit,
    async close() {
      stopRetention();
      await audit.close();
      await instance.close();
      await store.close();
    },
  };
}
