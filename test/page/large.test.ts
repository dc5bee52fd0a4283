import type { Locator } from "playwright-core";
import { expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { crowd } from "../support/page/fleet.js";
import type { MockServer } from "../support/page/mock-server.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

/** Counts what the page changes in its document, and how long its longest task has taken. */
async function watch(page: Page): Promise<void> {
  await page.evaluate(() => {
    const seen = { elements: 0, texts: 0, rows: new Set<Element>() };
    Object.assign(window, { seen });
    new MutationObserver((records) => {
      for (const { type, target, addedNodes } of records) {
        if (type === "characterData") seen.texts += 1;
        seen.elements += [...addedNodes].filter((node) => node instanceof Element).length;
        const row = (target instanceof Element ? target : target.parentElement)?.closest("tbody tr");
        if (row != null && type !== "characterData") seen.rows.add(row);
      }
    }).observe(document.body, { subtree: true, childList: true, characterData: true });
  });
}

function seen(page: Page): Promise<{ elements: number; texts: number; rows: number }> {
  return page.evaluate(() => {
    const { elements, texts, rows } = (window as unknown as { seen: Seen }).seen;
    return { elements, texts, rows: rows.size };
  });
}

interface Seen {
  readonly elements: number;
  readonly texts: number;
  readonly rows: ReadonlySet<Element>;
}

/** Each lock has another lease, as after a renewal, and one of three another waiting call. */
function renewal(server: MockServer, round: number) {
  const { locks, clients, totals } = server.state.snapshot;
  return {
    put: locks.map((row) => ({ ...row, ttlMs: 20_000 + ((round * 997) % 10_000) })),
    clients: { put: clients.map((row) => ({ ...row, lastSeenMs: round % 5_000 })), gone: [] },
    totals: { ...totals, waiting: round % 1_000 },
  };
}

it("changes no element of 200 rows when their leases are renewed", async () => {
  const server = await serve({ snapshot: crowd(2_000, 300) });
  const page = await whenLive(await open(server.url));
  expect(await page.locator("tbody tr").count()).toBe(200);
  await watch(page);
  server.change(renewal(server, 77));
  await page.locator(".figures").getByText("77").waitFor();
  const { elements, texts } = await seen(page);
  expect(elements).toBe(0);
  expect(texts).toBeGreaterThan(0);
});

it.each([1_600, 320])("lays out no row that is far from the screen, %i px wide", async (width) => {
  const { url } = await serve({ snapshot: crowd(2_000, 300) });
  const page = await whenLive(await open(url, { width, height: 800, scheme: "light" }));
  // The browser decides with a frame which of them it lays out.
  const laidOut = (wanted: readonly [first: boolean, last: boolean]) =>
    page.waitForFunction(([isFirst, isLast]) => {
      const names = [...document.querySelectorAll(".name")];
      const isLaidOut = (name?: Element) => name?.checkVisibility({ contentVisibilityAuto: true });
      return isLaidOut(names[0]) === isFirst && isLaidOut(names.at(-1)) === isLast;
    }, wanted);
  const last = page.locator(".name").last();
  await laidOut([true, false]);
  const rowHeight = (row: Locator) => row.evaluate((element) => element.getBoundingClientRect().height);
  const rows = page.locator("tbody tr");
  // As high as it will be: nothing moves when it is scrolled to. The last one has no line below it.
  const before = await rowHeight(rows.nth(150));
  await last.focus();
  await laidOut([false, true]);
  await rows.nth(150).scrollIntoViewIfNeeded();
  expect(await rowHeight(rows.nth(150))).toBe(before);
});

it("draws the one row that differs", async () => {
  const server = await serve({ snapshot: crowd(2_000, 300) });
  const page = await whenLive(await open(server.url));
  const [row] = server.state.snapshot.locks.slice(5);
  if (row === undefined) throw new Error("the crowd has no such lock");
  await watch(page);
  server.change({ put: [{ ...row, flags: ["stale"] }] });
  await page.locator("tbody .badge.stale").waitFor();
  expect(await seen(page)).toMatchObject({ elements: 1, rows: 1 });
});

it("takes no more memory after hundreds of changes, events and points", { timeout: 600_000 }, async () => {
  const server = await serve({ snapshot: crowd(2_000, 300) });
  const page = await whenLive(await open(server.url));
  const session = await page.context().newCDPSession(page);
  const heap = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { usedSize } = await session.send("Runtime.getHeapUsage");
    return usedSize;
  };
  const send = async (from: number, to: number) => {
    for (let round = from; round < to; round += 1) {
      const point = {
        atMs: round * 10_000,
        waiting: 1,
        acquired: 1,
        contentions: 1,
        longestMs: 1,
        losses: 0,
        busiest: [],
      };
      server.change({ ...renewal(server, round), point });
      server.event({ id: 100 + round, atMs: round, type: "gone", client: `client ${round}` });
      if (round % 10 === 0)
        await page.locator(".figures").getByText(String(round), { exact: true }).waitFor();
    }
    await page
      .locator(".figures")
      .getByText(String(to - 1), { exact: true })
      .waitFor();
  };
  await send(1, 520);
  const before = await heap();
  await send(520, 720);
  const grown = (await heap()) - before;
  console.log(
    `page of 200 rows: ${(before / 1e6).toFixed(1)} MB, ${(grown / 1e6).toFixed(2)} MB more after 200 changes`,
  );
  expect(grown).toBeLessThan(2_000_000);
});
