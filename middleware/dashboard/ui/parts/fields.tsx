import type { VNode } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly placeholder?: string;
  readonly type?: "text" | "datetime-local";
  onChange(value: string): void;
}

const TYPING_PAUSE_MS = 300;

/** A text that is taken over when the typing pauses. */
export function TextField({ label, value, placeholder, type = "text", onChange }: TextFieldProps): VNode {
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // What changed elsewhere during the pause must not be undone.
  const latest = useRef(onChange);
  latest.current = onChange;
  // A change from elsewhere, such as clearing all filters, wins over what was typed.
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const take = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => latest.current(next.trim()), TYPING_PAUSE_MS);
  };
  return (
    <label class={type === "text" ? "field" : "field field-time"}>
      <span>{label}</span>
      <input
        // The types know one union member per kind of field.
        type={type as "text"}
        value={text}
        placeholder={placeholder ?? ""}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => take(event.currentTarget.value)}
      />
    </label>
  );
}

export interface SelectFieldProps {
  readonly label: string;
  readonly value: string;
  readonly choices: readonly (readonly [value: string, label: string])[];
  readonly isDisabled?: boolean;
  onChange(value: string): void;
}

export function SelectField({ label, value, choices, isDisabled = false, onChange }: SelectFieldProps): VNode {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} disabled={isDisabled} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([id, text]) => (
          <option key={id} value={id} selected={id === value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}

export interface SwitchProps {
  readonly label: string;
  readonly isOn: boolean;
  readonly isDisabled?: boolean;
  onChange(isOn: boolean): void;
}

export function Switch({ label, isOn, isDisabled = false, onChange }: SwitchProps): VNode {
  return (
    <button
      type="button"
      role="switch"
      class="switch"
      aria-checked={isOn}
      aria-label={label}
      disabled={isDisabled}
      onClick={() => onChange(!isOn)}
    >
      <span class="switch-knob" />
    </button>
  );
}
