// @ts-check
/**
 * Compares the pages of docs/zh with the English pages that they translate. Both must have headings of the same levels in the same order.
 * Each section must have the same blocks of code, links, numbers, tables and lists as the English one. Names between backticks must occur in
 * the English section.
 *
 * docs/zh/translated.json records the English headings that were translated, each with a digest of the words below it. A heading that is new
 * or renamed since then is a mistake. Changed words are no mistake: this program lists them.
 *
 *   node scripts/translations.mjs           lists mistakes, and sections whose words have changed since they were translated
 *   node scripts/translations.mjs --write   records the English pages as they are now, if there are no mistakes
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { root } from "./tiers.mjs";

const folder = "docs/zh";
const recordFile = `${folder}/translated.json`;
const glossary = `${folder}/glossary.md`;

/** @param {string} page */
const read = (page) => readFileSync(posix.join(root, page), "utf8");
const slashed = readdirSync(posix.join(root, folder), { recursive: true }).map((name) =>
  String(name).replaceAll("\\", "/"),
);

/** The pages of docs/zh that translate another. */
export const translations = slashed
  .filter((name) => name.endsWith(".md"))
  .map((name) => posix.join(folder, name))
  .filter((page) => page !== glossary)
  .sort();

/** The page that one of docs/zh translates, and any other page itself. @param {string} page */
export const originalOf = (page) =>
  page === `${folder}/README.md` ? "README.md" : page.replace(folder, "docs");

/** @returns {Record<string, Record<string, string>>} by English page and heading */
const readRecord = () => JSON.parse(read(recordFile));

/**
 * @typedef {{ level: number, title: string, code: string[], prose: string }} Section
 */

const HEADING = /^(#+) (.*)$/;
const FENCE = /^```/;

/** @param {string} text @returns {Section[]} what stands below each heading */
function sectionsOf(text) {
  /** @type {Section[]} */
  const sections = [];
  let inCode = false;
  for (const line of text.split("\n")) {
    const [, marks = "", title = ""] = (!inCode && HEADING.exec(line)) || [];
    if (marks !== "") sections.push({ level: marks.length, title, code: [], prose: "" });
    const section = sections.at(-1);
    if (section === undefined || marks !== "") continue;
    const isFence = FENCE.test(line);
    if (isFence && !inCode) section.code.push("");
    if (inCode || isFence) section.code[section.code.length - 1] += `${line}\n`;
    else section.prose += `${line}\n`;
    if (isFence) inCode = !inCode;
  }
  return sections;
}

const LINK = /\]\(([^)\s]+)\)|src(?:set)?="([^"]+)"/g;
const CODE = /`([^`\n]+)`/g;

/** The anchor of a heading as GitHub makes it. @param {string} title */
const anchorOf = (title) =>
  title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");

/**
 * What a section links to: pages by their English names, and headings by their English titles. A page of docs/zh must lead to another page of
 * docs/zh where there is one. The links between a page and its translation are left out, and so is the one to the glossary.
 *
 * @param {Section} section @param {string} page
 */
function linksOf({ prose }, page) {
  const links = [...prose.matchAll(LINK)].map(([, link, picture]) => link ?? picture ?? "");
  return links.flatMap((link) => {
    if (/^[a-z]+:/.test(link)) return [link];
    const [file = "", anchor] = link.split("#");
    const target = file === "" ? page : posix.join(posix.dirname(page), file);
    const isOwn = target !== page && originalOf(target) === originalOf(page);
    return isOwn || target === glossary ? [] : [englishName(target, anchor, isTranslation(page))];
  });
}

/** @param {string} page */
const isTranslation = (page) => translations.includes(page);

/** @param {string} target @param {string | undefined} anchor @param {boolean} wantsChinese */
function englishName(target, anchor, wantsChinese) {
  const original = originalOf(target);
  const place = anchor === undefined ? "" : `#${englishTitle(target, anchor)}`;
  const isLeft =
    wantsChinese && target === original && translations.some((page) => originalOf(page) === target);
  return `${original}${place}${isLeft ? " in English" : ""}`;
}

/** @param {string} page @param {string} anchor */
function englishTitle(page, anchor) {
  const at = sectionsOf(read(page)).findIndex(({ title }) => anchorOf(title) === anchor);
  return sectionsOf(read(originalOf(page)))[at]?.title ?? anchor;
}

/** @param {Section} section */
function numbersOf({ prose }) {
  const words = prose.replace(LINK, "]").replace(CODE, "");
  return words.match(/\d+(?:[.,]\d+)*/g) ?? [];
}

/** The columns of each row, with a space between tables, and the items of lists. @param {Section} section */
function layoutOf({ prose }) {
  const lines = prose.split("\n");
  const rows = lines.map((line) => (line.startsWith("|") ? `|${line.split(/(?<!\\)\|/).length - 2}` : " "));
  const items = lines.filter((line) => /^(?:-|\d+\.) /.test(line));
  return `${rows.join("").trim().replace(/ +/g, " ")} with ${items.length} items`;
}

/** @param {readonly string[]} some @param {readonly string[]} others */
const without = (some, others) => [...new Set(some)].filter((one) => !others.includes(one));

/**
 * @param {string} page of docs/zh
 * @param {string} [translated] its text
 * @param {string} [original] the text of the English page
 * @returns {string[]} what differs
 */
export function mistakesIn(page, translated = read(page), original = read(originalOf(page))) {
  const [ours, theirs] = [sectionsOf(translated), sectionsOf(original)];
  const english = originalOf(page);
  const odd = theirs.findIndex(({ level }, nth) => ours[nth]?.level !== level);
  if (odd >= 0)
    return [`"${theirs[odd]?.title}" of ${english} has no heading of the same level at the same place`];
  if (ours.length > theirs.length) return [`"${ours[theirs.length]?.title}" is not in ${english}`];
  const back = posix.relative(posix.dirname(page), english);
  const unlinked = translated.includes(`](${back})`) ? [] : [`it has no link to ${back}`];
  return [...unlinked, ...theirs.flatMap((section, nth) => differences(section, ours[nth] ?? section, page))];
}

/** @param {Section} theirs @param {Section} ours @param {string} page */
function differences(theirs, ours, page) {
  const english = originalOf(page);
  const where = `"${theirs.title}" of ${english}`;
  const [linked, wanted] = [linksOf(ours, page), linksOf(theirs, english)];
  const [counted, numbers] = [numbersOf(ours), numbersOf(theirs)];
  const codeIn = (/** @type {Section} */ { prose }) => [...prose.matchAll(CODE)].map(([, code = ""]) => code);
  const [layout, wantedLayout] = [layoutOf(ours), layoutOf(theirs)];
  const block = theirs.code.findIndex((code, nth) => code !== ours.code[nth]);
  return [
    ...(block >= 0 ? [`block of code ${block + 1} in ${where} differs`] : []),
    ...(ours.code.length > theirs.code.length ? [`${where} has fewer blocks of code`] : []),
    ...without(wanted, linked).map((link) => `the link to ${link} in ${where} is missing`),
    ...without(linked, wanted).map((link) => `the link to ${link} is not in ${where}`),
    ...without(numbers, counted).map((number) => `the number ${number} in ${where} is missing`),
    ...without(counted, numbers).map((number) => `the number ${number} is not in ${where}`),
    ...without(codeIn(ours), codeIn(theirs)).map((code) => `\`${code}\` is not in ${where}`),
    ...(layout === wantedLayout ? [] : [`tables and lists: ${layout}; in ${where}: ${wantedLayout}`]),
  ];
}

/** @param {Section} section */
const digestOf = ({ prose }) =>
  createHash("sha256").update(prose.replace(/\s+/g, " ")).digest("hex").slice(0, 12);

/** By heading. @param {string} text of an English page @returns {Record<string, string>} */
const digestsOf = (text) =>
  Object.fromEntries(sectionsOf(text).map((section) => [section.title, digestOf(section)]));

/**
 * @param {string} page of docs/zh
 * @param {Record<string, string> | undefined} [noted]
 * @returns {string[]} the headings of the English page that are new, renamed or gone since it was translated
 */
export function changedHeadings(page, noted = readRecord()[originalOf(page)]) {
  const english = originalOf(page);
  if (noted === undefined) return [`the headings of ${english} are not recorded`];
  const [now, before] = [Object.keys(digestsOf(read(english))), Object.keys(noted)];
  return [
    ...without(now, before).map(
      (title) => `"${title}" of ${english} is new or renamed since it was translated`,
    ),
    ...without(before, now).map((title) => `"${title}" was translated, and ${english} no longer has it`),
  ];
}

/** Sections whose words have changed. @param {string} page of docs/zh */
function changedWords(page) {
  const english = originalOf(page);
  const noted = readRecord()[english] ?? {};
  const changed = Object.entries(digestsOf(read(english))).filter(
    ([title, digest]) => noted[title] !== undefined && noted[title] !== digest,
  );
  return changed.map(([title]) => `"${title}" of ${english}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const writes = process.argv.includes("--write");
  const mistakes = translations.flatMap((page) => {
    const all = [...mistakesIn(page), ...(writes ? [] : changedHeadings(page))];
    return all.map((mistake) => `${page}: ${mistake}`);
  });
  for (const mistake of mistakes) console.error(mistake);
  if (mistakes.length > 0) process.exitCode = 1;
  else if (writes) {
    const record = Object.fromEntries(
      translations.map((page) => [originalOf(page), digestsOf(read(originalOf(page)))]),
    );
    writeFileSync(posix.join(root, recordFile), `${JSON.stringify(record, null, 2)}\n`);
  }
  const changed = translations.flatMap(changedWords);
  if (changed.length > 0)
    console.log(`Changed in words since they were translated:\n  ${changed.join("\n  ")}`);
}
