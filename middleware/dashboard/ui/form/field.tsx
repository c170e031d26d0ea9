import type { VNode } from "preact";
import { useId } from "preact/hooks";
import { ChoiceInput, NumberInput, TextInput } from "./inputs.js";
import { JsonInput } from "./json-input.js";
import { ListField } from "./list-field.js";
import { Description, Faults } from "./notes.js";
import type { FieldProps, InputProps } from "./props.js";
import { childPointer, type Shape } from "./shape.js";

/** One value of the input, however deep. */
export function Field(props: FieldProps): VNode {
  if (props.shape.kind === "group") return <GroupField {...props} />;
  if (props.shape.kind === "list") return <ListField {...props} renderItem={(item) => <Field {...item} />} />;
  return <SingleField {...props} />;
}

function GroupField({ shape, label, pointer, value, faults, onChange }: FieldProps): VNode {
  const fields = shape.kind === "group" ? shape.fields : [];
  const values = typeof value === "object" && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  const set = (name: string, next: unknown) => {
    const { [name]: _before, ...rest } = values;
    onChange(next === undefined ? rest : { ...rest, [name]: next });
  };
  const inner = fields.map((field) => (
    <Field
      key={field.name}
      shape={field.shape}
      label={field.name}
      isRequired={field.isRequired}
      pointer={childPointer(pointer, field.name)}
      value={values[field.name]}
      faults={faults}
      onChange={(next) => set(field.name, next)}
    />
  ));
  if (pointer === "") return <div class="form-fields">{inner}</div>;
  return (
    <fieldset class="form-group">
      <legend>{label}</legend>
      <Description shape={shape} />
      <Faults faults={faults.filter((fault) => fault.pointer === pointer)} />
      {inner}
    </fieldset>
  );
}

function SingleField({ shape, label, isRequired, pointer, value, faults, onChange }: FieldProps): VNode {
  const id = useId();
  const hasHint = typeof shape.schema["description"] === "string";
  const own = faults.filter(
    (fault) => fault.pointer === pointer || (shape.kind === "json" && fault.pointer.startsWith(`${pointer}/`)),
  );
  const describedBy = [hasHint && `${id}-hint`, own.length > 0 && `${id}-faults`].filter(Boolean).join(" ");
  const input: InputProps = {
    id,
    isRequired,
    isInvalid: own.length > 0,
    describedBy: describedBy === "" ? undefined : describedBy,
    value,
    onChange,
  };
  return (
    <div class={own.length > 0 ? "form-field invalid" : "form-field"} data-pointer={pointer}>
      <label for={id}>
        {label}
        <span class="form-kind">
          {kindOf(shape)}
          {isRequired ? "" : ", optional"}
        </span>
      </label>
      <Description shape={shape} id={`${id}-hint`} />
      <Input shape={shape} input={input} />
      <Faults id={`${id}-faults`} faults={own} />
    </div>
  );
}

function Input({ shape, input }: { readonly shape: Shape; readonly input: InputProps }): VNode {
  switch (shape.kind) {
    case "text":
      return <TextInput {...input} shape={shape} />;
    case "number":
      return <NumberInput {...input} shape={shape} />;
    case "boolean":
      return <ChoiceInput {...input} choices={[true, false]} />;
    case "choice":
      return <ChoiceInput {...input} choices={shape.choices} />;
    default:
      return <JsonInput {...input} />;
  }
}

function kindOf({ kind, schema }: Shape): string {
  if (kind === "json") return "JSON";
  const { format, type } = schema;
  return typeof format === "string" ? format : typeof type === "string" ? type : kind;
}
