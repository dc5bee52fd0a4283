/** What lint cannot say. A rule reads one file at a time and answers with what is wrong in it. */
export interface TidyRule {
  readonly promise: string;
  applies(path: string): boolean;
  problems(text: string, path: string): readonly string[];
  /** Files that the rule must complain about: a check that cannot fail is none. */
  readonly offences: readonly Offence[];
}

export interface Offence {
  readonly path: string;
  readonly text: string;
}

/** A complaint for each match of `pattern`, with the line it is in. */
export function complain(text: string, pattern: RegExp, complaint: string): string[] {
  return [...text.matchAll(pattern)].map((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    return `line ${line}: ${complaint}: ${match[0].trim()}`;
  });
}
