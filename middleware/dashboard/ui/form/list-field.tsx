import type { VNode } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../parts/icon.js";
import { Description, Faults } from "./notes.js";
import type { FieldProps } from "./props.js";
import { childPointer, initialValue, type Shape } from "./shape.js";

export interface ListFieldProps extends FieldProps {
  renderItem(props: FieldProps): VNode;
}

/** Values of one kind, one below the other. */
export function ListField({ shape, label, isRequired, pointer, value, faults, onChange, renderItem }: ListFieldProps): VNode {
  const item: Shape = shape.kind === "list" ? shape.item : shape;
  const items = Array.isArray(value) ? value : [];
  const keys = useKeys(items.length);
  const set = (index: number, next: unknown) => onChange(items.with(index, next ?? null));
  const remove = (index: number) => {
    keys.remove(index);
    const rest = items.toSpliced(index, 1);
    onChange(rest.length === 0 && !isRequired ? undefined : rest);
  };
  return (
    <fieldset class="form-group" data-pointer={pointer}>
      <legend>
        {label}
        <span class="form-kind">list{isRequired ? "" : ", optional"}</span>
      </legend>
      <Description shape={shape} />
      <Faults faults={faults.filter((fault) => fault.pointer === pointer)} />
      {items.map((one, index) => (
        <div class="form-item" key={keys.of(index)}>
          {renderItem({
            shape: item,
            label: `${label} ${index + 1}`,
            isRequired: true,
            pointer: childPointer(pointer, String(index)),
            value: one ?? undefined,
            faults,
            onChange: (next) => set(index, next),
          })}
          <button type="button" class="quiet" aria-label={`Remove ${label} ${index + 1}`} onClick={() => remove(index)}>
            <Icon name="cross" />
          </button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...items, initialValue(item) ?? null])}>
        <Icon name="plus" /> Add to {label}
      </button>
    </fieldset>
  );
}

/** Keys that stay with their item when one before it is removed. */
function useKeys(length: number): { of(index: number): number; remove(index: number): void } {
  const keys = useRef<number[]>([]);
  const next = useRef(0);
  while (keys.current.length < length) keys.current.push(next.current++);
  return {
    of: (index) => keys.current[index] ?? index,
    remove: (index) => {
      keys.current.splice(index, 1);
    },
  };
}
