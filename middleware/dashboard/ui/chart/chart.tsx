import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";

/** Colours of the page as it is now, light or dark, by the name of their custom property. */
export type Palette = (name: string) => string;

export interface ChartProps {
  /** What a screen reader says instead of the picture. */
  readonly label: string;
  readonly height: number;
  readonly data: uPlot.AlignedData;
  /** Changes when `options` would give something else. */
  readonly kind: string;
  options(color: Palette): Omit<uPlot.Options, "width" | "height">;
  /** The place in the data under the pointer; `null` when it left. */
  onHover(index: number | null): void;
}

/** A picture of numbers over time, as wide as its place. */
export function Chart({ label, height, data, kind, options, onHover }: ChartProps): VNode {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const hover = useRef(onHover);
  hover.current = onHover;
  const isDark = useDarkScheme();

  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(
      { ...withHover(options(paletteOf(element)), hover), width: element.clientWidth, height },
      data,
      element,
    );
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [kind, isDark, height]);
  useEffect(() => plot.current?.setData(data), [data]);

  return <div ref={box} class="chart" role="img" aria-label={label} />;
}

function withHover(
  options: Omit<uPlot.Options, "width" | "height">,
  hover: { readonly current: (index: number | null) => void },
): Omit<uPlot.Options, "width" | "height"> {
  const setCursor = ({ cursor }: uPlot) => hover.current(cursor.idx ?? null);
  return {
    ...options,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false }, ...options.cursor },
    hooks: { setCursor: [setCursor] },
  };
}

function paletteOf(element: Element): Palette {
  const style = getComputedStyle(element);
  return (name) => style.getPropertyValue(name).trim();
}

function useDarkScheme(): boolean {
  const [isDark, setDark] = useState(() => matchMedia("(prefers-color-scheme: dark)").matches);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const update = () => setDark(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return isDark;
}

/** Axes in the page's own colours and letters. `time` writes what stands below, `format` the numbers on the left. */
export function axes(color: Palette, time: (at: Date) => string, format: (value: number) => string): uPlot.Axis[] {
  const line = { stroke: color("--text-faint"), font: "11px system-ui, sans-serif", ticks: { show: false } };
  return [
    {
      ...line,
      grid: { show: false },
      space: 76,
      size: 28,
      values: (_plot, seconds) => seconds.map((at) => time(new Date(at * 1_000))),
    },
    {
      ...line,
      grid: { stroke: color("--line-faint"), width: 1 },
      size: 52,
      space: 36,
      values: (_plot, values) => values.map((value) => (value === 0 ? "0" : format(value))),
    },
  ];
}
