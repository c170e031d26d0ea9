import { createRequire } from "node:module";
import { SkillError } from "../errors.js";

/** The part of a prom-client registry that is used here. */
export interface MetricsRegistry {
  getSingleMetric(name: string): unknown;
  registerMetric(metric: never): void;
}

type Labels = Readonly<Record<string, string>>;

export interface PromCounter {
  inc(labels: Labels, value?: number): void;
  reset(): void;
}
export interface PromGauge {
  set(labels: Labels, value: number): void;
}
export interface PromHistogram {
  observe(labels: Labels, value: number): void;
}

interface MetricConfiguration<Metric> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly string[];
  readonly registers: readonly MetricsRegistry[];
  /** Called before each scrape, with the metric as `this`. */
  readonly collect?: (this: Metric) => void;
}

export interface PromClient {
  readonly Counter: new (configuration: MetricConfiguration<PromCounter>) => PromCounter;
  readonly Gauge: new (configuration: MetricConfiguration<PromGauge>) => PromGauge;
  readonly Histogram: new (
    configuration: MetricConfiguration<PromHistogram> & { readonly buckets: readonly number[] },
  ) => PromHistogram;
}

/** @throws INVALID_OPTION it is not installed */
export function loadPromClient(): PromClient {
  try {
    return createRequire(import.meta.url)("prom-client") as PromClient;
  } catch (cause) {
    throw new SkillError("INVALID_OPTION", "The option metrics needs prom-client: run `npm install prom-client@15`.", { cause });
  }
}
