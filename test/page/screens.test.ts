import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { chromiumPages, type Look, type Page, scrollsSideways, whenLive } from "../support/page/chromium.js";
import { AT_MS, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const { violations: found } = (await page.evaluate("axe.run()")) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[];
  };
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  );
}

const empty = { ...night(), locks: [], clients: [], history: [], events: [] };
const totals = { held: 0, waiting: 0, clients: 0, gone: 0, unknown: 0, jvms: 0 };

/** Where each screen is, and what is done there before it is looked at. */
const screens: Readonly<Record<string, readonly [fragment: string, act?: (page: Page) => Promise<void>]>> = {
  locks: ["#/locks"],
  panel: ["#/locks?lock=order%3A42"],
  "panel of readers": ["#/locks?lock=catalogue"],
  "dialog to free": ["#/locks?lock=order%3A42", (page) => page.locator("[data-key=f]").click()],
  "panel of permits": ["#/locks?lock=thumbnails", (page) => page.locator(".permits li").first().waitFor()],
  "dialog to give permits back": [
    "#/locks?lock=thumbnails",
    (page) => page.getByRole("button", { name: "Give back…" }).last().click(),
  ],
  clients: ["#/clients"],
  "client opened": ["#/clients", (page) => page.locator("[data-row]").first().click()],
  "over time": ["#/time", (page) => page.locator(".plot canvas").nth(3).waitFor()],
  "as tables": ["#/time", tables],
  events: ["#/events"],
  keys: ["#/locks", (page) => page.keyboard.press("?")],
};

async function tables(page: Page): Promise<void> {
  for (const button of await page.getByRole("button", { name: "As table" }).all()) await button.click();
}

const looks: readonly Look[] = [
  { width: 1_600, height: 900, scheme: "light" },
  { width: 1_600, height: 900, scheme: "dark" },
  { width: 320, height: 640, scheme: "light" },
  { width: 320, height: 640, scheme: "dark" },
];

describe.each(Object.entries(screens))("screen: %s", (_, [fragment, act]) => {
  it.each(looks)("has nothing that axe complains about, $width px wide, $scheme", async (look) => {
    const { url } = await serve();
    const page = await whenLive(await open(url + fragment, look));
    await act?.(page);
    expect(await violations(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
  });
});

it.each([
  ["nothing is told", { snapshot: { ...empty, totals } }, "No client has presence."],
  ["nothing is held", { snapshot: { ...night(), locks: [], totals } }, "Nothing is held or waited for."],
])("explains itself where %s", async (_, state, text) => {
  const { url } = await serve(state);
  const page = await whenLive(await open(url));
  await page.getByRole("heading", { name: text }).waitFor();
  expect(await violations(page)).toEqual([]);
});

it("numbers those that have a place in the queue, and no others", async () => {
  const snapshot = night();
  const locks = snapshot.locks.map((row) => {
    const [first, second, third] = row.waiting;
    if (first === undefined || second === undefined || third === undefined) return row;
    return { ...row, waiting: [first, second, { ...third, holder: null }] };
  });
  const queueOf = async (state: object) => {
    const { url } = await serve(state);
    const page = await whenLive(await open(`${url}#/locks?lock=order%3A42`));
    await page.locator(".queue li").first().waitFor();
    const heading = await page
      .locator("section", { has: page.locator(".queue") })
      .locator("h3", { hasText: "waiting" })
      .textContent();
    const numbers = await page
      .locator(".queue li")
      .evaluateAll((rows) => rows.map((row) => getComputedStyle(row, "::before").content));
    return { heading, numbers };
  };
  const [number, none] = ["counter(place)", '""'];
  expect(await queueOf({})).toEqual({
    heading: "3 waiting, in this order",
    numbers: [number, number, number],
  });
  expect(await queueOf({ snapshot: { ...snapshot, locks } })).toEqual({
    heading: "3 waiting; numbers are places in the queue",
    numbers: [number, number, none],
  });
});

it("can be read while Redis is away, and where a lock has just been freed", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  await page.locator("[data-row]").first().focus();
  server.change({ gone: ["report"], away: { sinceMs: AT_MS, reason: "connect ECONNREFUSED" } });
  await page.getByRole("alert").waitFor();
  await page.locator("tr.is-freed").waitFor();
  expect(await violations(page)).toEqual([]);
});

it("is in Chinese where the browser is", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url, { locale: "zh-CN" }));
  expect(await page.getByRole("navigation").textContent()).toContain("客户端");
  expect(await page.evaluate(() => document.documentElement.lang)).toBe("zh");
  expect(await violations(page)).toEqual([]);
});
