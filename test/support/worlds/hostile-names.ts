import { NO_TEXT } from "../servers/bytes-in-names.js";

/** A name that code trips over which takes names for something else than bytes. */
export interface HostileName {
  readonly title: string;
  readonly name: string;
}

const LONG = "o".repeat(100_000);
const LONGER = `${LONG}o`;

/** Names that every topology takes. */
export const hostileNames: readonly HostileName[] = [
  { title: "a zero byte between a tenant and an id", name: "tenant-7\0order" },
  { title: "a zero byte before and behind", name: "\0order\0" },
  { title: "a zero byte in its hash tag", name: "tenant{7\x008}order" },
  { title: "every control character", name: `order${String.fromCharCode(...Array(32).keys())}\x7f` },
  {
    title: "the first and the last character of each length in UTF-8",
    name: "\x7f\x80\u07ff\u0800\uffff\u{10000}\u{10ffff}",
  },
  { title: "what formats and patterns take for their own", name: "%s%d%%%1 %z[%a-]*()^$.\\0" },
  { title: "99 bytes, the last of them zero", name: `${"o".repeat(98)}\0` },
  { title: "a hundred kilobytes and a zero byte", name: `${LONG}\0` },
];

/** Names that one server takes, and a cluster refuses. */
export const bracedNames: readonly HostileName[] = [
  "{",
  "}",
  "{}",
  "}{",
  "a{b",
  "a}b",
  "{a}{b}",
  "{a\0}b}\0",
].map((name) => ({ title: `the braces of ${JSON.stringify(name)}`, name }));

/** Names with which whole histories are played. */
export interface SortOfNames {
  readonly title: string;
  readonly names: readonly [string, string, string];
}

/** Of each sort also such as differ only behind what code may stop at. */
export const sortsOfNames: readonly SortOfNames[] = [
  { title: "a zero byte", names: ["tenant-7\0order", "tenant-7\0orders", "\0"] },
  {
    title: "bytes that are not UTF-8",
    names: [`order ${NO_TEXT}`, `order ${NO_TEXT}${NO_TEXT}`, `{${NO_TEXT}}\u07ff`],
  },
  { title: "braces in pairs", names: ["{a}{b}", "{a}{c}", "{}"] },
  { title: "braces without another", names: ["a{b", "a}b", "}{"] },
  { title: "100 KB", names: [LONG, LONGER, `${LONG}\0`] },
];
