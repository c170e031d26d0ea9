import type { ComponentChildren, VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { href } from "../route.js";
import { Icon } from "./icon.js";

export interface PageHeaderProps {
  readonly title: string;
  readonly lead?: ComponentChildren;
  /** Buttons at the end of the line. */
  readonly children?: ComponentChildren;
  readonly back?: { readonly path: readonly string[]; readonly label: string };
}

/** A page's heading. It takes the focus when the page opens, so that a screen reader says where one is. */
export function PageHeader({ title, lead, children, back }: PageHeaderProps): VNode {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Skills`;
  }, [title]);
  useEffect(() => {
    if (document.activeElement !== document.body) heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, []);
  return (
    <div class="page-header">
      <div class="page-title">
        {back !== undefined && (
          <a class="back" href={href(back.path)}>
            <Icon name="back" /> {back.label}
          </a>
        )}
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {lead !== undefined && <div class="lead">{lead}</div>}
      </div>
      {children !== undefined && <div class="actions">{children}</div>}
    </div>
  );
}
