import type { VNode } from "preact";
import { useState } from "preact/hooks";
import type { StatsBucket } from "../api/types.js";
import { Table } from "../parts/table.js";
import { bucketLabel } from "./bucket-label.js";

export interface Column<Row> {
  readonly title: string;
  text(row: Row): string;
}

export interface ChartTableProps<Row extends { readonly at: string }> {
  readonly caption: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly bucket: StatsBucket;
}

/** The numbers of a chart, for those who cannot see it or want to read them. Buckets in which nothing happened are left out. */
export function ChartTable<Row extends { readonly at: string }>({ caption, rows, columns, bucket }: ChartTableProps<Row>): VNode {
  const [isOpen, setOpen] = useState(false);
  const filled = rows.filter((row) => columns.some(({ text }) => !["0", "–"].includes(text(row))));
  return (
    <details class="as-table" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <Table
          caption={caption}
          columns={[
            { title: "From", cell: (row: Row) => bucketLabel(row.at, bucket) },
            ...columns.map(({ title, text }) => ({ title, cell: text, isNumber: true })),
          ]}
          rows={filled}
          keyOf={({ at }) => at}
        />
      )}
    </details>
  );
}
