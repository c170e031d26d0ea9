import { SkillError } from "../errors.js";
import { CallMetrics } from "./call-metrics.js";
import type { MetricsRegistry } from "./prom-client.js";
import { sharedMetrics } from "./shared-metrics.js";
import type { MetricsSource } from "./sources.js";

/** Metrics for Prometheus. */
export interface MetricsOptions {
  /** A registry of prom-client 15: its `register`, or one of your own. Kits may share it: what they count is added up. */
  readonly registry: MetricsRegistry;
  /** Skills that are counted under their own name, the first ones that run, 0 to 10,000; the others together as `_other`. Default 100. */
  readonly maxSkills?: number | undefined;
}

export interface MetricsConfig {
  readonly registry: MetricsRegistry;
  readonly maxSkills: number;
}

/** The metrics of one kit. */
export interface KitMetrics {
  readonly calls: CallMetrics;
  /** Takes the kit's gauges out of the registry's sums; what it counted stays. */
  close(): void;
}

/**
 * Registers the metrics, unless another kit has, and adds this kit to them.
 * @throws INVALID_OPTION prom-client is not installed, or the registry has a metric of another under one of the names
 */
export function createMetrics({ registry, maxSkills }: MetricsConfig, rooms: Omit<MetricsSource, "calls">): KitMetrics {
  const shared = sharedMetrics(registry);
  const calls = new CallMetrics(shared, maxSkills);
  const source: MetricsSource = { ...rooms, calls: () => calls.figures() };
  shared.sources.add(source);
  return { calls, close: () => shared.sources.retire(source) };
}

/** @throws INVALID_OPTION */
export function parseMetricsOptions({ registry, maxSkills = 100 }: MetricsOptions): MetricsConfig {
  if (typeof registry?.registerMetric !== "function" || typeof registry.getSingleMetric !== "function")
    throw new SkillError("INVALID_OPTION", "metrics.registry must be a registry of prom-client, such as its `register`.");
  if (!Number.isInteger(maxSkills) || maxSkills < 0 || maxSkills > 10_000)
    throw new SkillError("INVALID_OPTION", `metrics.maxSkills must be a whole number from 0 to 10000, got ${String(maxSkills)}.`);
  return { registry, maxSkills };
}
