/** A table of a Markdown document. */
export interface MarkdownTable {
  /** The text of the heading that it stands below. */
  readonly heading: string;
  readonly columns: readonly string[];
  /** The cells of each row, without the spaces around them. */
  readonly rows: readonly (readonly string[])[];
}

const HEADING = /^#+\s+(.*)$/;
const RULE = /^\|[\s:|-]+\|$/;

/** Reads the tables of a document: rows that begin and end with a bar, the second one of dashes. */
export function markdownTables(markdown: string): readonly MarkdownTable[] {
  const lines = markdown.split("\n");
  let heading = "";
  return lines.flatMap((line, at) => {
    heading = HEADING.exec(line)?.[1] ?? heading;
    if (!RULE.test(line)) return [];
    const below = lines.slice(at + 1);
    const end = below.findIndex((row) => !row.startsWith("|"));
    const rows = below.slice(0, end < 0 ? below.length : end).map(cellsOf);
    return [{ heading, columns: cellsOf(lines[at - 1] ?? ""), rows }];
  });
}

/** A bar with a backslash before it belongs to its cell. */
function cellsOf(row: string): readonly string[] {
  const cells = row.trim().split(/(?<!\\)\|/);
  return cells.slice(1, -1).map((cell) => cell.trim().replaceAll("\\|", "|"));
}
