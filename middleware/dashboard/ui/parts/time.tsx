import type { VNode } from "preact";
import { useNow } from "../data/use-resource.js";
import { formatAgo, formatTime } from "../format.js";

/** How long ago, with the exact time on hover and for screen readers. */
export function Ago({ iso }: { readonly iso: string }): VNode {
  const now = useNow(5_000);
  return (
    <time dateTime={iso} title={formatTime(iso)}>
      {formatAgo(iso, now)}
    </time>
  );
}
