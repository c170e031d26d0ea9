import type { ComponentChildren, VNode } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "./icon.js";

/** JSON in colour, with a button that copies it. */
export function JsonView({ label, value }: { readonly label: string; readonly value: unknown }): VNode {
  const text = JSON.stringify(value, null, 2) ?? "null";
  return (
    <div class="code-box">
      <CopyButton what={label} text={text} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard */}
      <section tabIndex={0} aria-label={label}>
        <pre>
          <code>{highlight(text)}</code>
        </pre>
      </section>
    </div>
  );
}

export function CopyButton({ what, text }: { readonly what: string; readonly text: string }): VNode {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard?.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_500);
  };
  return (
    <button
      type="button"
      class="quiet copy"
      aria-label={`Copy ${what.toLowerCase()}`}
      onClick={() => void copy().catch(() => {})}
    >
      <Icon name={isCopied ? "check" : "copy"} />
      <span aria-live="polite">{isCopied ? "Copied" : ""}</span>
    </button>
  );
}

/** Beyond this many characters the colours would cost more than they show. */
const MAX_HIGHLIGHTED = 60_000;
const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function highlight(text: string): ComponentChildren {
  if (text.length > MAX_HIGHLIGHTED) return text;
  const parts: ComponentChildren[] = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [whole, string, colon, word] = match;
    parts.push(text.slice(end, match.index));
    end = match.index + whole.length;
    if (string !== undefined && colon !== undefined) parts.push(<span class="json-key">{string}</span>, colon);
    else
      parts.push(
        <span class={string !== undefined ? "json-string" : word !== undefined ? "json-word" : "json-number"}>{whole}</span>,
      );
  }
  parts.push(text.slice(end));
  return parts;
}
