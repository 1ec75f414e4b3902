import type { BenchRow } from "./main.ts";

/** Rows as an aligned text table; a column appears if at least one row has it. */
export function table(rows: BenchRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cell = (row: BenchRow, column: string) => String(row[column] ?? "");
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => cell(row, column).length)));
  const line = (cells: string[]) =>
    cells
      .map((text, index) => text.padEnd(widths[index] ?? 0))
      .join("  ")
      .trimEnd();
  return [
    line(columns),
    line(widths.map((width) => "-".repeat(width))),
    ...rows.map((row) => line(columns.map((column) => cell(row, column)))),
  ].join("\n");
}
