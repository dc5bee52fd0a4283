import { expect, it } from "vitest";
import { assetsOf, buildPage, isWritten, readPage } from "../../../scripts/generate-page.mjs";

/** 48 KB for all that one browser loads: the page, its scripts in one language, its style and icon. */
const MOST_BYTES = 48 * 1024;

it("is what page/ makes", async () => {
  const isFresh = isWritten(await buildPage());
  expect(isFresh, "src/inspector/assets.ts differs from page/: run `npm run generate`").toBe(true);
});

it.each(["en", "zh"])("takes no more than it may, in %s", (language) => {
  const others = ["en", "zh"].filter((each) => each !== language);
  const loaded = readPage().filter(({ name }) => !others.some((other) => name.startsWith(`${other}-`)));
  const bytes = loaded.reduce((sum, { gzipped }) => sum + gzipped, 0);
  expect(loaded.length).toBe(6);
  expect(bytes).toBeLessThanOrEqual(MOST_BYTES);
});

it("has neither scripts nor styles in its HTML, as its security policy wants it", () => {
  const html = readPage().find(({ name }) => name === "index.html")?.text ?? "";
  expect(html).not.toMatch(/<style|style=|<script[^>]*>[^<]|\son\w+=|https?:/);
});

it("names each file by its contents, and what loads it by that name", () => {
  const files = [
    { file: "late.js", text: "export {}" },
    { file: "app.js", text: 'import("./late.js")' },
  ];
  const named = (text: string) =>
    assetsOf([{ ...files[0], file: "late.js", text }, ...files.slice(1)], "{app.js}");
  const [app, index, late] = named("export {}");
  expect(late?.name).toMatch(/^late-[0-9a-f]{12}\.js$/);
  expect(app?.text).toContain(`"?asset=${late?.name}"`);
  expect(index?.text).toBe(app?.name);
  expect(named("export {};")[0]?.name).not.toBe(app?.name);
});

it("fails to name what is not built", () => {
  expect(() => assetsOf([], "{app.js}")).toThrow("the page names app.js, which is not built");
});
