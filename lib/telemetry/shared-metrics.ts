import { SkillError } from "../errors.js";
import { loadPromClient, type MetricsRegistry, type PromClient, type PromCounter, type PromHistogram } from "./prom-client.js";
import { MetricsSources } from "./sources.js";

/** The metrics of every kit on one registry. */
export interface SharedMetrics {
  /** By skill and outcome. */
  readonly executions: PromCounter;
  /** By skill. */
  readonly duration: PromHistogram;
  /** Skills that have a label of their own. */
  readonly names: Set<string>;
  readonly sources: MetricsSources;
}

const EXECUTIONS = "skill_executions_total";
/** From a function that only computes to a container with the longest usual limit. */
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
/** Under this the registry's own metric carries the rest, so that nothing outlives the registry and every copy of this package finds it. */
const SHARED = Symbol.for("express-skills.metrics.1");

/**
 * The metrics in a registry, made when they are not there yet.
 * @throws INVALID_OPTION prom-client is not installed, or a name is taken by another's metric
 */
export function sharedMetrics(registry: MetricsRegistry): SharedMetrics {
  const known = registry.getSingleMetric(EXECUTIONS) as { [SHARED]?: SharedMetrics } | undefined;
  return known?.[SHARED] ?? register(registry, loadPromClient());
}

function register(registry: MetricsRegistry, client: PromClient): SharedMetrics {
  const registers = [registry];
  try {
    const executions = new client.Counter({
      name: EXECUTIONS,
      help: "Calls of skills that have ended",
      labelNames: ["skill", "outcome"],
      registers,
    });
    const duration = new client.Histogram({
      name: "skill_execution_duration_seconds",
      help: "Time of a skill's work with all attempts",
      labelNames: ["skill"],
      buckets: DURATION_BUCKETS_SECONDS,
      registers,
    });
    const shared: SharedMetrics = { executions, duration, names: new Set(), sources: new MetricsSources() };
    registerFigures(registry, client, shared.sources);
    return Object.assign(executions, { [SHARED]: shared })[SHARED];
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SkillError("INVALID_OPTION", `metrics.registry cannot take the metrics of skills: ${reason}`, { cause });
  }
}

/** What is not counted as it happens but asked of the kits when the metrics are read. */
function registerFigures(registry: MetricsRegistry, client: PromClient, sources: MetricsSources): void {
  const gauge = (name: string, help: string, value: () => number) =>
    new client.Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set({}, value());
      },
    });
  const gaugeByState = (name: string, help: string, values: () => Readonly<Record<string, number>>) =>
    new client.Gauge({
      name,
      help,
      labelNames: ["state"],
      registers: [registry],
      collect() {
        for (const [state, value] of Object.entries(values())) this.set({ state }, value);
      },
    });
  const counter = (name: string, help: string, label: string | null, values: () => Iterable<readonly [string, number]>) =>
    new client.Counter({
      name,
      help,
      labelNames: label === null ? [] : [label],
      registers: [registry],
      collect() {
        this.reset();
        for (const [value, count] of values()) this.inc(label === null ? {} : { [label]: value }, count);
      },
    });

  gauge("skill_executions_running", "Calls that run", () => sources.sum((kit) => kit.calls().running));
  gauge("skill_executions_queued", "Calls that wait for a place of their skill", () => sources.sum((kit) => kit.calls().queued));
  gauge("skill_audit_waiting", "Audit entries that wait to be written", () => sources.sum((kit) => kit.audit()?.waiting));
  gauge(
    "skill_audit_lag_seconds",
    "Age of the oldest ended call whose row is not written",
    () => sources.max((kit) => kit.audit()?.lagMs) / 1000,
  );
  counter("skill_audit_lost_total", "Audit rows that were given up", null, () => [["", sources.lost()]]);
  gaugeByState("skill_sandbox_containers", "Containers, and calls that wait for one", () => ({
    running: sources.sum((kit) => kit.sandbox()?.running),
    queued: sources.sum((kit) => kit.sandbox()?.queued),
    removing: sources.sum((kit) => kit.sandbox()?.removing),
  }));
  gaugeByState("skill_sandbox_slots", "Containers that are started ahead", () => ({
    waiting: sources.sum((kit) => kit.sandbox()?.slots.waiting),
    starting: sources.sum((kit) => kit.sandbox()?.slots.starting),
  }));
  counter("skill_sandbox_slot_hits_total", "Calls that found a container started ahead", null, () => [["", sources.hits()]]);
  counter("skill_sandbox_slot_misses_total", "Calls that found none, by why", "reason", () => sources.misses());
}
