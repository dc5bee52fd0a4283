/** A bar of `columns` characters, full at a share of 1. */
export function bar(share: number, columns: number): string {
  const full = Math.round(Math.min(Math.max(share, 0), 1) * columns);
  return "█".repeat(full) + "░".repeat(columns - full);
}
