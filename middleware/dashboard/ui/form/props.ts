import type { Fault } from "../api/types.js";
import type { Shape } from "./shape.js";

export interface FieldProps {
  readonly shape: Shape;
  readonly label: string;
  readonly isRequired: boolean;
  readonly pointer: string;
  /** `undefined`: left out. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  onChange(value: unknown): void;
}

/** What an input needs to belong to its label, hint and faults. */
export interface InputProps {
  readonly id: string;
  readonly isRequired: boolean;
  readonly isInvalid: boolean;
  readonly describedBy: string | undefined;
  readonly value: unknown;
  onChange(value: unknown): void;
}
