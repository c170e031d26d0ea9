import type { VNode } from "preact";
import type { Fault } from "../api/types.js";
import type { Shape } from "./shape.js";

export function Description({ shape, id }: { readonly shape: Shape; readonly id?: string }): VNode | null {
  const { description } = shape.schema;
  if (typeof description !== "string") return null;
  return (
    <p class="hint" {...(id === undefined ? {} : { id })}>
      {description}
    </p>
  );
}

export function Faults({ faults, id }: { readonly faults: readonly Fault[]; readonly id?: string }): VNode | null {
  if (faults.length === 0) return null;
  return (
    <ul class="form-faults" {...(id === undefined ? {} : { id })}>
      {faults.map(({ pointer, message }) => (
        <li key={`${pointer} ${message}`}>{message}</li>
      ))}
    </ul>
  );
}
