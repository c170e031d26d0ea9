import type { VNode } from "preact";
import { useState } from "preact/hooks";
import { attributesOf } from "./inputs.js";
import type { InputProps } from "./props.js";

/** A value written as JSON. While it is none, the browser keeps the form from being sent and says why. */
export function JsonInput({ value, onChange, rows = 4, ...looks }: InputProps & { readonly rows?: number }): VNode {
  const [text, setText] = useState(() => (value === undefined ? "" : JSON.stringify(value, null, 2)));
  const take = (area: HTMLTextAreaElement) => {
    setText(area.value);
    try {
      onChange(area.value.trim() === "" ? undefined : JSON.parse(area.value));
      area.setCustomValidity("");
    } catch (error) {
      area.setCustomValidity(`This is not JSON: ${(error as Error).message}`);
    }
  };
  return (
    <textarea {...attributesOf(looks)} class="code" rows={rows} value={text} onInput={(event) => take(event.currentTarget)} />
  );
}
