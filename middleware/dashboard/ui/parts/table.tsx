import type { ComponentChildren, VNode } from "preact";

export interface TableColumn<Row> {
  readonly title: string;
  /** Aligned at the end, with figures of equal width. */
  readonly isNumber?: boolean;
  /** Heads its row, and its card on narrow screens. */
  readonly isMain?: boolean;
  cell(row: Row): ComponentChildren;
}

export interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  keyOf(row: Row): string;
  /** Further class of a row. */
  readonly rowClass?: (row: Row) => string | undefined;
}

/** A table that becomes a list of cards where it is too narrow. The caption is for screen readers: a heading stands above. */
export function Table<Row>({ caption, columns, rows, keyOf, rowClass }: TableProps<Row>): VNode {
  return (
    <div class="table-box">
      <table {...as.table}>
        <caption class="visually-hidden">{caption}</caption>
        <thead {...as.rowgroup}>
          <tr {...as.row}>
            {columns.map(({ title, isNumber = false }) => (
              <th key={title} scope="col" {...as.columnheader} class={isNumber ? "number" : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody {...as.rowgroup}>
          {rows.map((row) => (
            <tr key={keyOf(row)} {...as.row} class={rowClass?.(row)}>
              {columns.map((column) => (
                <Cell key={column.title} column={column} row={row} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** As blocks, which is what the parts of a card are, the elements would lose the roles that they have as a table. */
const as = {
  table: { role: "table" },
  rowgroup: { role: "rowgroup" },
  row: { role: "row" },
  columnheader: { role: "columnheader" },
  cell: { role: "cell" },
} as const;

function Cell<Row>({ column, row }: { readonly column: TableColumn<Row>; readonly row: Row }): VNode {
  const { title, isNumber = false, isMain = false, cell } = column;
  const looks = [isNumber && "number", isMain && "main"].filter(Boolean).join(" ");
  return (
    <td {...as.cell} data-title={title} class={looks === "" ? undefined : looks}>
      {cell(row)}
    </td>
  );
}
