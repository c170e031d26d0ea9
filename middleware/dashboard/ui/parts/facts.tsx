import type { ComponentChildren, VNode } from "preact";

export type FactRow = readonly [name: string, value: ComponentChildren];

/** Names and what they stand for. */
export function Facts({ rows }: { readonly rows: readonly FactRow[] }): VNode {
  return (
    <dl class="facts">
      {rows.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
