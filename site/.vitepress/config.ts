import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type DefaultTheme, defineConfig, type LocaleConfig, type MarkdownRenderer } from "vitepress";
import { deadLinks } from "../built-links.js";
import { chinese, chineseSearch } from "../chinese.js";
import { writeCopies } from "../copies.js";
import { anchorOf, type Repository, resolveLink, withBothPictures } from "../links.js";
import { apiSidebarsOf, pageOf, pagesAtTop, sidebarOf } from "../pages.js";
import { boostDocument, tokenize } from "../search.js";

const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  description: string;
  repository: { url: string };
};
const repository: Repository = { root, url: manifest.repository.url.replace(/^git\+|\.git$/g, "") };
const hasChinese = existsSync(join(root, "docs/zh"));

/** Links and pictures stand in the documents as GitHub wants them. */
function resolvesLinks(markdown: MarkdownRenderer): void {
  markdown.core.ruler.push("holdfast-links", ({ tokens, env }) => {
    const file = String(env.realPath ?? env.path).slice(root.length + 1);
    for (const token of tokens.flatMap((block) => [block, ...(block.children ?? [])])) {
      const link = token.type === "link_open" ? token.attrGet("href") : null;
      if (link !== null) token.attrSet("href", resolveLink(link, file, repository));
      if (token.type === "html_block") token.content = withBothPictures(token.content);
    }
  });
}

const start: DefaultTheme.SidebarItem = {
  text: "Start",
  items: [
    { text: "What it is", link: "/readme" },
    { text: "Use it right", link: "/skill" },
    ...pagesAtTop(root),
  ],
};

const english: DefaultTheme.Config = {
  nav: [
    { text: "Guide", link: "/guide/first-steps" },
    { text: "Choosing a lock", link: "/guide/choosing-a-lock" },
    { text: "From another library", link: "/migrate/" },
    { text: "Reference", link: "/reference/options" },
    { text: "API", link: "/api/" },
  ],
  sidebar: {
    "/": [start, ...sidebarOf(root)],
    ...apiSidebarsOf(root),
  },
  outline: [2, 3],
};

const locales: LocaleConfig<DefaultTheme.Config> = {
  root: { label: "English", lang: "en", themeConfig: english },
  ...(hasChinese ? { zh: chinese(root) } : {}),
};

export default defineConfig({
  title: "holdfast",
  description: manifest.description,
  srcDir: root,
  outDir: join(root, "build/site/dist"),
  cacheDir: join(root, "node_modules/.cache/holdfast-site"),
  // Documents, the generated reference, and few pages besides.
  srcExclude: [
    "!(docs|build|site|README.md|SKILL.md)/**",
    "build/!(site)/**",
    ...(hasChinese ? [] : ["site/zh/**"]),
  ],
  rewrites: (file) => pageOf(file) ?? file,
  cleanUrls: true,
  head: [
    [
      "link",
      {
        rel: "icon",
        href: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'><path d='M9 14v-4a7 7 0 0 1 14 0v4h3v16H6V14zm4 0h6v-4a3 3 0 0 0-6 0z' fill='%23b3261e'/></svg>",
      },
    ],
  ],
  locales,
  markdown: {
    anchor: { slugify: anchorOf },
    config: resolvesLinks,
  },
  themeConfig: {
    i18nRouting: false,
    socialLinks: [{ icon: "github", link: repository.url }],
    search: {
      provider: "local",
      options: {
        miniSearch: { options: { tokenize }, searchOptions: { boostDocument } },
        locales: { zh: chineseSearch },
      },
    },
  },
  vite: { publicDir: false, build: { chunkSizeWarningLimit: 2_000 } },
  transformHead: ({ page, siteConfig }) =>
    page === "404.md"
      ? []
      : [["link", { rel: "alternate", type: "text/markdown", href: `${siteConfig.site.base}${page}` }]],
  buildEnd({ outDir, pages, site }) {
    writeCopies({ repository, files: pages, out: outDir, base: site.base });
    const dead = deadLinks(outDir, site.base);
    if (dead.length > 0) throw new Error(`${dead.length} links lead nowhere:\n${dead.join("\n")}`);
  },
});
