import type { ComponentChildren, VNode } from "preact";

export function Loading({ what }: { readonly what: string }): VNode {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {what}…
    </p>
  );
}

export interface EmptyProps {
  readonly title: string;
  readonly children?: ComponentChildren;
}

/** Says that there is nothing, and what to do so that there is something. */
export function Empty({ title, children }: EmptyProps): VNode {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}
