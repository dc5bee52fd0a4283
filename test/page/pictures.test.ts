import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { served } from "../support/page/served.js";

/** `npm run pictures` takes them for the documents; otherwise those that are there are looked at. */
const areTaken = process.env["HOLDFAST_PICTURES"] === "1";
const folder = join(import.meta.dirname, "../../docs/pictures");
const MOST_BYTES = 150_000;

const open = chromiumPages();
const serve = served();

const pictures: Readonly<Record<string, readonly [fragment: string, act?: (page: Page) => Promise<void>]>> = {
  locks: ["#/locks"],
  panel: ["#/locks?lock=order%3A42", (page) => page.getByText("From a shell").waitFor()],
  free: ["#/locks?lock=order%3A42", openDialog],
  clients: ["#/clients", (page) => page.locator("[data-row]", { hasText: "api" }).last().click()],
  "over-time": ["#/time", (page) => page.locator(".plot canvas").nth(3).waitFor()],
  events: ["#/events"],
};

async function openDialog(page: Page): Promise<void> {
  await page.locator("[data-key=f]").click();
  await page.getByRole("dialog").getByRole("textbox").first().fill("order:42");
}

describe.each(Object.entries(pictures))("picture: %s", (name, [fragment, act]) => {
  it.each(["light", "dark"] as const)("is a small file, %s", async (scheme) => {
    const file = join(folder, `inspector-${name}-${scheme}.png`);
    if (areTaken) {
      const { url } = await serve();
      const page = await whenLive(await open(url + fragment, { width: 1_280, height: 720, scheme }));
      await act?.(page);
      await page.mouse.move(0, 0);
      await page.evaluate(() => document.fonts.ready);
      mkdirSync(folder, { recursive: true });
      await page.screenshot({ path: file });
      shrink(file);
    }
    expect(statSync(file).size).toBeLessThan(MOST_BYTES);
  });
});

/** To 256 colours, where Debian's package pngquant is installed. */
function shrink(file: string): void {
  spawnSync("pngquant", ["--force", "--skip-if-larger", "--strip", "--output", file, "256", file]);
}
