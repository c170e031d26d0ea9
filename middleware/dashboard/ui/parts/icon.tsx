import type { VNode } from "preact";

/** Line drawings on a grid of 16, in the colour of the text around them. */
const PATHS = {
  brand: "M9.500 1.500 3 9h4.500l-1 5.500L13 7H8.500z",
  overview: "M2 13.500h12M4 11V7.500M8 11V3M12 11V5.500",
  skill: "M8 1.800 13.500 5v6L8 14.200 2.500 11V5zM2.700 5.100 8 8.200l5.300-3.100M8 8.200v5.800",
  execution: "M2 4h8M2 8h12M2 12h6M12.500 2.500v3M10.500 10.500v3",
  settings:
    "M2 5h6m4 0h2M2 11h2m4 0h6M10 3.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600M6 9.200a1.800 1.800 0 1 1 0 3.600 1.800 1.800 0 0 1 0-3.600",
  check: "m3 8.500 3.200 3.200L13 5",
  cross: "m4 4 8 8m0-8-8 8",
  clock: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2m0 2.800V8l2.300 1.600",
  stop: "M4.500 4.500h7v7h-7z",
  pause: "M5.500 3.500v9M10.500 3.500v9",
  bolt: "M8 2v7M8 12.500v.5",
  ban: "M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2M4 4l8 8",
  play: "M5 3.200 12.500 8 5 12.800z",
  dots: "M3.500 8h.01M8 8h.01M12.500 8h.01",
  copy: "M6 6h7.500v7.500H6zM3.500 10H2.500V2.500H10v1",
  repeat: "M13 8a5 5 0 1 1-1.500-3.500L13 6M13 2.500V6H9.500",
  plus: "M8 3v10M3 8h10",
  back: "M10 3 5 8l5 5",
  warning: "M8 2 14.500 13.500h-13zM8 6.500v3M8 11.500v.1",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): VNode {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}
