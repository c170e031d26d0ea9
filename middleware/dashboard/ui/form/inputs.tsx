import type { VNode } from "preact";
import type { InputProps } from "./props.js";
import type { Shape } from "./shape.js";

const ROWS_OF_LONG_TEXT = 3;

/** An empty text is left out; who wants to send one writes the input as JSON. */
export function TextInput({
  shape,
  value,
  onChange,
  ...looks
}: InputProps & { readonly shape: Extract<Shape, { kind: "text" }> }): VNode {
  const text = typeof value === "string" ? value : "";
  const onInput = (event: { readonly currentTarget: { readonly value: string } }) =>
    onChange(event.currentTarget.value === "" ? undefined : event.currentTarget.value);
  if (shape.isLong) return <textarea {...attributesOf(looks)} rows={ROWS_OF_LONG_TEXT} value={text} onInput={onInput} />;
  if (shape.schema["writeOnly"] === true)
    return <input {...attributesOf(looks)} type="password" value={text} onInput={onInput} />;
  return <input {...attributesOf(looks)} type="text" value={text} onInput={onInput} />;
}

/** What is no number is sent as it was typed, so that the server says what is wrong with it. */
export function NumberInput({
  shape,
  value,
  onChange,
  ...looks
}: InputProps & { readonly shape: Extract<Shape, { kind: "number" }> }): VNode {
  const take = (text: string) => {
    const number = Number(text);
    onChange(text.trim() === "" ? undefined : Number.isFinite(number) && !/[.eE]$|\.0*$/.test(text) ? number : text);
  };
  return (
    <input
      {...attributesOf(looks)}
      type="text"
      inputMode={shape.isWhole ? "numeric" : "decimal"}
      value={value === undefined ? "" : String(value)}
      onInput={(event) => take(event.currentTarget.value)}
      onBlur={(event) => {
        const number = Number(event.currentTarget.value);
        if (event.currentTarget.value.trim() !== "" && Number.isFinite(number)) onChange(number);
      }}
    />
  );
}

export function ChoiceInput({
  choices,
  value,
  onChange,
  ...looks
}: InputProps & { readonly choices: readonly unknown[] }): VNode {
  const place = choices.indexOf(value);
  return (
    <select
      {...attributesOf(looks)}
      value={String(place)}
      onChange={(event) => onChange(choices[Number(event.currentTarget.value)])}
    >
      <option value="-1" selected={place === -1}>
        {looks.isRequired ? "Choose…" : "Left out"}
      </option>
      {choices.map((choice, index) => (
        <option key={String(choice)} value={String(index)} selected={index === place}>
          {typeof choice === "string" ? choice : JSON.stringify(choice)}
        </option>
      ))}
    </select>
  );
}

export function attributesOf({ id, isRequired, isInvalid, describedBy }: Omit<InputProps, "value" | "onChange">) {
  return {
    id,
    autocomplete: "off" as const,
    spellcheck: false,
    "aria-required": isRequired,
    "aria-invalid": isInvalid,
    ...(describedBy === undefined ? {} : { "aria-describedby": describedBy }),
  };
}
