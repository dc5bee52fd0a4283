/** One token of the deciding code is another. */
export interface Mutant {
  /** `file:line:column:operator`. */
  readonly id: string;
  readonly file: string;
  /** What is replaced, from where to where in the file. */
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** The line as it stands. */
  readonly was: string;
  /** The line as it becomes. */
  readonly line: string;
}

/** What is to be replaced, and what the replacement is called. */
export interface Change {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  readonly operator: string;
}

export function mutantsOf(file: string, source: string, changes: readonly Change[]): readonly Mutant[] {
  return changes.map(({ start, end, replacement, operator }) => {
    const before = source.slice(0, start);
    const lineStart = before.lastIndexOf("\n") + 1;
    const place = `${file}:${before.split("\n").length}:${start - lineStart + 1}`;
    const changed = before + replacement + source.slice(end);
    const line = lineFrom(changed, lineStart, start);
    const was = lineFrom(source, lineStart, start);
    return { id: `${place}:${operator}`, file, start, end, replacement, was, line };
  });
}

/** The line that begins at `lineStart` and goes on at least to `at`. */
function lineFrom(source: string, lineStart: number, at: number): string {
  const lineEnd = source.indexOf("\n", at);
  return source.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).trim();
}

/** What a comparison becomes: off by one, and the opposite. */
export const COMPARISONS: Readonly<Record<string, readonly string[]>> = {
  "<": ["<=", ">="],
  "<=": ["<", ">"],
  ">": [">=", "<="],
  ">=": [">", "<"],
};
