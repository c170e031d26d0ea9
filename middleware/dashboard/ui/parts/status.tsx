import type { VNode } from "preact";
import type { ExecutionStatus } from "../api/types.js";
import { Icon, type IconName } from "./icon.js";

export interface StatusLook {
  readonly label: string;
  readonly icon: IconName;
  /** The custom property that has the colour. */
  readonly color: string;
}

/** In the order in which charts stack them and filters list them. */
export const STATUSES = {
  SUCCESS: { label: "Success", icon: "check", color: "--success" },
  ERROR: { label: "Error", icon: "cross", color: "--error" },
  TIMEOUT: { label: "Timeout", icon: "clock", color: "--timeout" },
  INTERRUPTED: { label: "Interrupted", icon: "bolt", color: "--interrupted" },
  DENIED: { label: "Denied", icon: "ban", color: "--denied" },
  CANCELLED: { label: "Cancelled", icon: "stop", color: "--cancelled" },
  RUNNING: { label: "Running", icon: "play", color: "--running" },
  QUEUED: { label: "Queued", icon: "dots", color: "--queued" },
} as const satisfies Record<ExecutionStatus, StatusLook>;

export const STATUS_ORDER = Object.keys(STATUSES) as ExecutionStatus[];

export function StatusBadge({ status }: { readonly status: ExecutionStatus }): VNode {
  const { label, icon } = STATUSES[status] ?? { label: status, icon: "dots" };
  return (
    <span class={`status status-${status.toLowerCase()}`}>
      <Icon name={icon} /> {label}
    </span>
  );
}
