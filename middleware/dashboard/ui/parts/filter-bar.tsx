import type { ComponentChildren, VNode } from "preact";

export interface FilterBarProps {
  readonly label: string;
  readonly isFiltered: boolean;
  readonly children: ComponentChildren;
  onClear(): void;
}

export function FilterBar({ label, isFiltered, children, onClear }: FilterBarProps): VNode {
  return (
    <search aria-label={label}>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        {children}
        {isFiltered && (
          <button type="button" class="quiet" onClick={onClear}>
            Clear the filter
          </button>
        )}
      </form>
    </search>
  );
}
