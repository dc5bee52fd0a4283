import { describe, expect, it } from "vitest";
import type { FeedSnapshot, LockRow, Point } from "../../src/inspector/format.js";
import { chromiumPages, type Look, type Page, whenLive } from "../support/page/chromium.js";
import { AT_MS, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

/** The longest texts: `59 min 05 s`, `23 h 59 min`. */
const AGES_MS = [3_545_000, 86_340_000] as const;
const widths = [320, 700, 1_280, 1_600];

/** The night, of which each age is as long as can be. */
function longNight(): FeedSnapshot {
  const { locks, clients, ...rest } = night();
  let next = 0;
  const anAge = () => AGES_MS[(next++ % 2) as 0 | 1];
  const old = <T extends { readonly client: LockRow["holders"][number]["client"] }>(each: T): T => ({
    ...each,
    client: each.client && { ...each.client, lastSeenMs: anAge() },
  });
  const rows = locks.map((row): LockRow => {
    const ageMs = anAge();
    return {
      ...row,
      ttlMs: row.ttlMs < 0 ? row.ttlMs : ageMs,
      holders: row.holders.map((holder) => ({ ...old(holder), sinceMs: ageMs })),
      waiting: row.waiting.map((waiter) => ({ ...old(waiter), forMs: ageMs })),
    };
  });
  const fleet = clients.map((client) => ({ ...client, lastSeenMs: anAge(), state: "gone" as const }));
  return { ...rest, locks: rows, clients: fleet };
}

/** The texts that are wider than the place they have: of numbers, badges and heads of columns. Names are cut where they are long. */
function cutNumbers(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const isCut = (element: Element) => {
      const box = element.closest("td, th, dd, li, p, figcaption") ?? element;
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect().right > box.getBoundingClientRect().right + 0.5;
    };
    return [...document.querySelectorAll(".number, .badge, thead button")]
      .filter((element) => element.checkVisibility() && isCut(element))
      .map((element) => `${element.closest("[class]")?.className}: ${element.textContent}`);
  });
}

it.each(widths)("no number and no badge is cut, %i px wide", async (width) => {
  const { url } = await serve({ snapshot: longNight() });
  for (const locale of ["en-GB", "zh-CN"]) {
    const page = await whenLive(await open(`${url}#/locks`, { width, height: 900, locale }));
    for (const at of ["#/locks", "#/clients", "#/locks?lock=order%3A42"]) {
      await page.goto(url + at);
      await page
        .locator(at.includes("lock=") ? ".facts-list" : "tbody tr")
        .first()
        .waitFor();
      expect([at, locale, await cutNumbers(page)]).toEqual([at, locale, []]);
    }
  }
});

const away = { sinceMs: AT_MS - 11_000, reason: "connect ECONNREFUSED 10.0.4.12:6379" };

it.each([
  { width: 1_280, height: 700 },
  { width: 1_024, height: 500 },
  { width: 320, height: 640 },
])("the banner covers no button and no row, $width px wide [I5]", async (look: Look) => {
  const server = await serve();
  const page = await whenLive(await open(`${server.url}#/locks?lock=order%3A42`, look));
  await page.locator("[data-key=f]").waitFor();
  server.change({ atMs: AT_MS, away });
  const banner = page.getByRole("alert");
  await banner.waitFor();
  const isCovered = await page.locator("[data-key=f]").evaluate((button) => {
    // On a wide screen the button stands at the end of the window, on a narrow one at that of the page.
    if (innerWidth < 1_024) scrollTo(0, document.documentElement.scrollHeight);
    const { left, right, bottom } = button.getBoundingClientRect();
    return document.elementFromPoint((left + right) / 2, bottom - 1) !== button;
  });
  expect(isCovered).toBe(false);
  await page.keyboard.press("Escape");
  await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
  const gap = await page.evaluate(() => {
    const box = (selector: string) => document.querySelector(selector)?.getBoundingClientRect();
    return (box(".banner")?.top ?? 0) - (box(".list")?.bottom ?? 0);
  });
  expect(gap).toBeGreaterThanOrEqual(0);
  server.change({ atMs: AT_MS, away: null });
  await banner.waitFor({ state: "detached" });
});

describe("charts", () => {
  /** What is drawn on the canvases: texts, how far they stand from the left, and the least x of a line. */
  async function watchDrawing(page: Page): Promise<() => Promise<{ texts: [string, number][] }>> {
    await page.addInitScript(() => {
      const texts: [string, number][] = [];
      Object.assign(window, { texts });
      const { fillText } = CanvasRenderingContext2D.prototype;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        const { width } = this.measureText(text);
        const left = this.textAlign === "right" ? x - width : x - width / 2;
        texts.push([text, left + this.getTransform().e]);
        fillText.call(this, text, x, y);
      };
    });
    return async () => ({
      texts: await page.evaluate(() => (window as unknown as { texts: [string, number][] }).texts),
    });
  }

  const pointAt = (at: number, longestMs = 100_000): Point => ({
    ...{ atMs: AT_MS - at * 10_000, waiting: 2, acquired: 3, contentions: 1, losses: 0, busiest: [] },
    longestMs,
  });

  it.each([100_000, 1_200_000, 5_000_000])("cut no label of an axis up to %i ms", async (longestMs) => {
    const history = Array.from({ length: 60 }, (_, at) => pointAt(59 - at, (longestMs * at) / 59));
    const { url } = await serve({ snapshot: { ...night(), history } });
    for (const locale of ["en-GB", "zh-CN"]) {
      const page = await open("about:blank", { width: 1_600, locale });
      const drawn = await watchDrawing(page);
      await page.goto(`${url}#/time`);
      await page.locator(".plot canvas").nth(3).waitFor();
      await expect.poll(async () => (await drawn()).texts.length).toBeGreaterThan(16);
      const { texts } = await drawn();
      expect(texts.filter(([, left]) => left < 0)).toEqual([]);
      expect(texts.some(([text]) => /min 40 s/.test(text))).toBe(false);
    }
  });

  it.each([
    [1_600, [2, 2]],
    [1_280, [2, 2]],
    [700, [1, 1, 1, 1]],
  ])("stand in full rows, %i px wide", async (width, rows) => {
    const { url } = await serve();
    const page = await whenLive(await open(`${url}#/time`, { width }));
    await page.locator(".plot canvas").nth(3).waitFor();
    const tops = await page
      .locator(".chart:not(.busiest)")
      .evaluateAll((charts) => charts.map((chart) => chart.getBoundingClientRect().top));
    const inRows = [...new Set(tops)].map((top) => tops.filter((each) => each === top).length);
    expect(inRows).toEqual(rows);
  });

  it("begin with the time there is: two minutes take the whole width", async () => {
    const history = Array.from({ length: 13 }, (_, at) => pointAt(12 - at));
    const { url } = await serve({ snapshot: { ...night(), history } });
    const page = await open("about:blank");
    const drawn = await watchDrawing(page);
    await page.goto(`${url}#/time`);
    await page.locator(".plot canvas").nth(3).waitFor();
    await expect.poll(async () => (await drawn()).texts.length).toBeGreaterThan(16);
    const { texts } = await drawn();
    const clocks = texts.map(([text]) => text).filter((text) => /^\d\d:\d\d/.test(text));
    expect(clocks).toContain("03:11:00");
    expect(clocks.every((text) => text >= "03:10:40" && text <= "03:12:40")).toBe(true);
  });
});
