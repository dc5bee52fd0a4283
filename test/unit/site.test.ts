import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it, test } from "vitest";
import { deadLinks } from "../../site/built-links.js";
import { copyOf } from "../../site/copies.js";
import { anchorOf, resolveLink, withBothPictures } from "../../site/links.js";
import { sections } from "../../site/order.js";
import { linkTo, pageOf, pagesAtTop, sidebarOf } from "../../site/pages.js";
import { boostDocument, tokenize } from "../../site/search.js";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

/** A folder with these files. */
function treeOf(files: Readonly<Record<string, string>>): string {
  const root = mkdtempSync(join(tmpdir(), "holdfast-site-"));
  folders.push(root);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, file)), { recursive: true });
    writeFileSync(join(root, file), text);
  }
  return root;
}

const ordered = sections.flatMap(({ folder, pages }) => pages.map((page) => `docs/${folder}/${page}.md`));
const documents = Object.fromEntries(ordered.map((file) => [file, `# ${file}\n`]));

test("a document stands on the site where it stands in docs/", () => {
  expect(pageOf("docs/guide/leases.md")).toBe("guide/leases.md");
  expect(pageOf("docs/migrate/README.md")).toBe("migrate/index.md");
  expect(pageOf("docs/zh/README.md")).toBe("zh/readme.md");
  expect(pageOf("build/site/api/holdfast/index.md")).toBe("api/holdfast/index.md");
  expect(pageOf("README.md")).toBe("readme.md");
  expect(pageOf("CONTRIBUTING.md")).toBeUndefined();
  expect(pageOf("docs/reference/api.txt")).toBeUndefined();
  expect(linkTo("migrate/index.md")).toBe("/migrate/");
  expect(linkTo("guide/leases.md")).toBe("/guide/leases");
});

describe("the sidebar", () => {
  it("has a new page at the end of its section", () => {
    const root = treeOf({ ...documents, "docs/guide/a-new-page.md": "# `A` new page\n" });
    expect(sidebarOf(root)[0]?.items?.at(-1)).toEqual({ text: "A new page", link: "/guide/a-new-page" });
  });

  it("refuses a folder that has no section", () => {
    const root = treeOf({ ...documents, "docs/essays/why.md": "# Why\n" });
    expect(() => sidebarOf(root)).toThrow("no section for the folder essays");
  });

  it("refuses a name in the order without a page", () => {
    const { "docs/guide/leases.md": _, ...others } = documents;
    expect(() => sidebarOf(treeOf(others))).toThrow("not in docs/guide: leases");
  });

  it("has a page that is in no folder, beside the start", () => {
    const root = treeOf({ "docs/zh/README.md": "# holdfast\n", "docs/zh/glossary.md": "# 词汇表\n" });
    expect(pagesAtTop(root, "zh")).toEqual([{ text: "词汇表", link: "/zh/glossary" }]);
  });

  it("has of a translation what is there", () => {
    const root = treeOf({ "docs/zh/guide/leases.md": "# 租约\n", "docs/zh/README.md": "# holdfast\n" });
    expect(sidebarOf(root, "zh")).toEqual([
      { text: "指南", items: [{ text: "租约", link: "/zh/guide/leases" }], collapsed: false },
    ]);
  });
});

describe("a link of a document", () => {
  const pages = ["docs/guide/leases.md", "docs/guide/fencing.md", "docs/migrate/README.md", "README.md"];
  const others = ["CONTRIBUTING.md", "src/lock.ts", "src/a.svg"];
  const root = treeOf(Object.fromEntries([...pages, ...others].map((file) => [file, ""])));
  const url = "https://example.org/holdfast";
  const resolved = (link: string, file = "docs/guide/leases.md") => resolveLink(link, file, { root, url });

  it.each([
    ["fencing.md#why", "/guide/fencing.md#why"],
    ["../../README.md", "/readme.md"],
    ["../migrate", "/migrate/index.md"],
    ["../../src/lock.ts", `${url}/blob/main/src/lock.ts`],
    ["../../src", `${url}/tree/main/src`],
    ["../../CONTRIBUTING.md#tiers", `${url}/blob/main/CONTRIBUTING.md#tiers`],
    ["#below", "#below"],
    ["https://example.org/a.md", "https://example.org/a.md"],
  ])("leads from %s to %s", (link, target) => {
    expect(resolved(link)).toBe(target);
  });

  it.each(["no-such-page.md", "../../../outside.md", "../../src/none.ts"])("may not lead to %s", (link) => {
    expect(() => resolved(link)).toThrow(`docs/guide/leases.md: the link ${link} leads nowhere`);
  });

  it("works in the Markdown copy as well, but for code", () => {
    const markdown =
      'See [fencing](fencing.md), `[x](y.md)`.\n\n```md\n[x](y.md)\n```\n\n<img alt="a" src="../../src/a.svg">\n';
    expect(copyOf(markdown, "docs/guide/leases.md", { root, url }, "/base/")).toBe(
      `See [fencing](/base/guide/fencing.md), \`[x](y.md)\`.\n\n\`\`\`md\n[x](y.md)\n\`\`\`\n\n<img alt="a" src="${url}/raw/main/src/a.svg">\n`,
    );
  });
});

test("anchors are those of GitHub", () => {
  expect(anchorOf("`holdfast:lease:lost`")).toBe("holdfastleaselost");
  expect(anchorOf("Is it still mine?")).toBe("is-it-still-mine");
  expect(anchorOf("租约 是什么？")).toBe("租约-是什么");
});

test("a picture for light and dark becomes two, of which the style shows one", () => {
  const html =
    '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="a-dark.svg">\n  <img alt="A" src="../a-light.svg">\n</picture>\n';
  expect(withBothPictures(html)).toBe(
    '<img class="only-light" loading="lazy" alt="A" src="../a-light.svg">\n<img class="only-dark" loading="lazy" alt="A" src="./a-dark.svg">\n',
  );
});

test("the search looks up names in code as they are, and Chinese by words", () => {
  expect(tokenize("lease.signal aborts")).toEqual(["lease", "signal", "aborts"]);
  expect(tokenize("分布式锁")).toEqual(["分布", "式", "锁"]);
});

test("the search shows guides before the reference of the API", () => {
  const pages = [
    "/api/holdfast/interfaces/Lock.html#name",
    "/reference/errors.html",
    "/guide/leases.html#in-a-log",
  ];
  expect(pages.toSorted((a, b) => boostDocument(b) - boostDocument(a))).toEqual(pages.toReversed());
});

test("a built page may not have a link, an anchor or a picture that is not there", () => {
  const out = treeOf({
    "index.html":
      '<h1 id="top"></h1><a href="/base/guide/leases#why">a</a><a href="#top">b</a><a href="https://example.org">c</a>',
    "guide/leases.html":
      '<h2 id="why"></h2><a href="/base/">a</a><a href="./none">b</a><a href="/base/#none">c</a><img src="/base/none.svg"><a href="/guide/leases">d</a>',
  });
  const dead = ["./none", "/base/#none", "/base/none.svg", "/guide/leases"];
  expect(deadLinks(out, "/base/")).toEqual(dead.map((link) => `guide/leases.html: ${link}`));
});
