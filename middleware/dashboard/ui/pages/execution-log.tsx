import type { VNode } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { LogLine } from "../api/types.js";
import { formatClock, formatCount } from "../format.js";

/** Lines as they come; the view follows them unless one has scrolled up. */
export function ExecutionLog({ lines, missing }: { readonly lines: readonly LogLine[]; readonly missing: number }): VNode {
  const box = useRef<HTMLDivElement>(null);
  const isFollowing = useRef(true);
  useEffect(() => {
    const element = box.current;
    if (element !== null && isFollowing.current) element.scrollTop = element.scrollHeight;
  }, [lines]);
  return (
    <div
      ref={box}
      class="log"
      role="log"
      aria-label="Log"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isFollowing.current = scrollHeight - scrollTop - clientHeight < 24;
      }}
    >
      {missing > 0 && <p class="log-gap">{formatCount(missing)} lines came meanwhile and are no longer kept</p>}
      {lines.map((line, index) => (
        <div key={index} class={`log-line log-${line.kind}`}>
          {line.at !== "" && <time dateTime={line.at}>{formatClock(line.at)}</time>}
          {line.kind === "stderr" && <span class="log-kind">stderr</span>}
          <span class="log-text">
            {line.text}
            {line.fields !== null && <span class="log-fields"> {JSON.stringify(line.fields)}</span>}
          </span>
        </div>
      ))}
    </div>
  );
}
