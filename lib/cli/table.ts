import { cutTo, oneLine, widthOf } from "./visible-text.js";

export interface Column<Row> {
  readonly title: string;
  value(row: Row): string;
  /** May be cut down to this many columns of the terminal. Default: never cut. */
  readonly minWidth?: number;
  /** Left out when the table does not fit otherwise: the highest number first. Default: never left out. */
  readonly dropOrder?: number;
  /** Puts colour around a value that is cut and padded. */
  paint?(text: string, row: Row): string;
}

const GAP = "  ";

/** Lines of a table that fit into `width` columns, the titles first. Text of users is made safe to print. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string[] {
  const cells = rows.map((row) => ({ row, texts: columns.map((column) => oneLine(column.value(row))) }));
  const wanted = columns.map(({ title }, index) =>
    Math.max(widthOf(title), ...cells.map(({ texts }) => widthOf(texts[index] ?? ""))),
  );
  return layOut(columns, wanted, width).render(cells);
}

/** A table whose rows come one at a time: the widths are given beforehand. */
export function streamTable<Row>(columns: readonly (Column<Row> & { readonly width: number })[], width: number) {
  const wanted = columns.map((column) => column.width);
  const layout = layOut(columns, wanted, width);
  return {
    title: () => layout.render([])[0] ?? "",
    line: (row: Row) => layout.render([{ row, texts: columns.map((column) => oneLine(column.value(row))) }])[1] ?? "",
  };
}

interface Cells<Row> {
  readonly row: Row;
  readonly texts: readonly string[];
}

function layOut<Row>(columns: readonly Column<Row>[], wanted: readonly number[], width: number) {
  const widths = fitWidths(columns, wanted, width);
  const shown = columns.map((column, index) => ({ column, index, width: widths[index] ?? 0 })).filter((one) => one.width > 0);
  const line = (texts: readonly string[], row: Row | undefined) =>
    shown
      .map(({ column, index, width: columnWidth }, position) => {
        const text = cutTo(texts[index] ?? "", columnWidth);
        const padded = position === shown.length - 1 ? text : text + " ".repeat(columnWidth - widthOf(text));
        return row !== undefined && column.paint !== undefined ? column.paint(padded, row) : padded;
      })
      .join(GAP)
      .trimEnd();
  const titles = columns.map(({ title }) => title);
  return {
    render: (cells: readonly Cells<Row>[]) => [line(titles, undefined), ...cells.map(({ row, texts }) => line(texts, row))],
  };
}

/** Widths of the columns, 0 for one that is left out: first what may be cut is, the widest first, then columns go. */
function fitWidths<Row>(columns: readonly Column<Row>[], wanted: readonly number[], width: number): number[] {
  const widths = [...wanted];
  const least = columns.map(({ minWidth }, index) => Math.min(minWidth ?? Number.POSITIVE_INFINITY, wanted[index] ?? 0));
  for (;;) {
    const used = widths.filter((one) => one > 0);
    const excess = used.reduce((sum, one) => sum + one, 0) + GAP.length * (used.length - 1) - width;
    if (excess <= 0) return widths;
    const slack = widths.map((one, index) => (one === 0 ? 0 : one - (least[index] ?? 0)));
    const total = slack.reduce((sum, one) => sum + one, 0);
    const cuttable = widths.map((one, index) => ((slack[index] ?? 0) > 0 ? one : 0));
    const widest = cuttable.indexOf(Math.max(...cuttable));
    if (total >= excess) widths[widest] = (widths[widest] ?? 1) - 1;
    else if (!drop(columns, widths)) return widths.map((one, index) => Math.min(one, least[index] ?? 0));
  }
}

function drop<Row>(columns: readonly Column<Row>[], widths: number[]): boolean {
  const orders = columns.map(({ dropOrder }, index) => (widths[index] === 0 ? -1 : (dropOrder ?? -1)));
  const first = Math.max(...orders);
  if (first < 0) return false;
  widths[orders.indexOf(first)] = 0;
  return true;
}
