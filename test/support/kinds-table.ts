import { chapters, kinds } from "../kinds/kinds.js";
import { backends } from "./backends.js";

/** The page that says which kind of lock does what. */
export function kindsPage(): string {
  const notes: string[] = [];
  const noteOf = (text: string) => {
    if (!notes.includes(text)) notes.push(text);
    return notes.indexOf(text) + 1;
  };
  const tables = chapters.map(({ title, behaviours }) =>
    [
      `## ${title}`,
      "",
      `| It … | ${kinds.map(({ name }) => name).join(" | ")} |`,
      `| --- |${" --- |".repeat(kinds.length)}`,
      ...behaviours.map(({ promise, needs }) => {
        const cells = kinds.map(({ lacks }) => {
          const reason = needs === undefined ? undefined : lacks[needs];
          return reason === undefined ? "✓ ".repeat(backends.length).trim() : `– (${noteOf(reason)})`;
        });
        return `| ${promise.replace(/ \[[^\]]*\]$/, "")} | ${cells.join(" | ")} |`;
      }),
      "",
    ].join("\n"),
  );
  return [
    "# What each kind of lock does",
    "",
    "Written by `npm run table` from the tests in `test/kinds/`, each of which is run for each kind on each server. The marks in",
    `a cell stand for: ${backends.map(({ name }) => name).join(", ")}. What is special to a kind has tests of its own there.`,
    "",
    ...tables,
    ...notes.map((note, at) => `${at + 1}. ${note}`),
    "",
  ].join("\n");
}
