// @ts-check
/**
 * Looks at the built site in Chromium, as `npm run site -- --look` does after a build: no page may be wider than a window of 320 px, nor have
 * an error in its console. Writes pictures of a few pages to build/site/pictures.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { chromium } from "playwright-core";
import { findChromium } from "./setup.mjs";
import { root } from "./tiers.mjs";

const site = join(root, "build/site/dist");
const pictures = join(root, "build/site/pictures");
const WIDTHS = [320, 768, 1_600];
const PICTURED = {
  home: "/",
  table: "/guide/choosing-a-lock",
  kind: "/guide/kinds/lock",
  charts: "/internals/performance",
  api: "/api/holdfast/interfaces/Lock",
};
/** @type {Record<string, string>} */
const TYPES = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};

const server = createServer(({ url = "/" }, response) => {
  const path = decodeURI(new URL(url, "http://site").pathname).replace(/\/$/, "/index");
  const file = extname(path) === "" ? `${path}.html` : path;
  try {
    const content = readFileSync(join(site, file));
    response
      .writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" })
      .end(content);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)));
const address = server.address();
const origin = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
const browser = await chromium.launch({
  executablePath: process.env["HOLDFAST_CHROMIUM"] ?? findChromium(process.env["PATH"]) ?? "",
  args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
});
try {
  const complaints = await complaintsAt320();
  await takePictures();
  console.log(complaints.length === 0 ? `Pictures are in ${pictures}` : complaints.join("\n"));
  process.exitCode = complaints.length === 0 ? 0 : 1;
} finally {
  await browser.close();
  server.close();
}

async function complaintsAt320() {
  /** @type {string[]} */
  const complaints = [];
  const page = await browser.newPage({ viewport: { width: 320, height: 640 } });
  page.on("pageerror", (error) => complaints.push(`${page.url()}: ${error.message}`));
  page.on("console", (message) => {
    if (message.type() === "error") complaints.push(`${page.url()}: ${message.text()}`);
  });
  for (const path of pagesOf(site)) {
    await page.goto(origin + path);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    if (width > 320) complaints.push(`${path} is ${width} px wide in a window of 320`);
  }
  await page.close();
  return complaints;
}

async function takePictures() {
  rmSync(pictures, { recursive: true, force: true });
  mkdirSync(pictures, { recursive: true });
  for (const width of WIDTHS) {
    for (const colorScheme of /** @type {const} */ (["light", "dark"])) {
      const page = await browser.newPage({ viewport: { width, height: 1_000 }, colorScheme });
      for (const [name, path] of Object.entries(PICTURED)) {
        await page.goto(origin + path, { waitUntil: "networkidle" });
        await page.screenshot({ path: join(pictures, `${name}-${width}-${colorScheme}.png`) });
      }
      await page.close();
    }
  }
}

/** @param {string} folder */
function pagesOf(folder) {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const pages = files.filter((file) => file.endsWith(".html") && file !== "404.html").sort();
  return pages.map((file) => `/${file.replace(/(?:(?<=^|\/)index)?\.html$/, "")}`);
}
