import { expect, it } from "vitest";
import type { LockRow } from "../../src/inspector/format.js";
import { chromiumPages, whenLive } from "../support/page/chromium.js";
import { clientRow, holderOf, lockRow, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

const gone = (number: number, lastSeenMs: number, app = "jobs") =>
  clientRow(number, { app, host: `pod-${number}`, pid: number, state: "gone", lastSeenMs });

function nightWith(...locks: readonly LockRow[]) {
  return { ...night(), locks };
}

it("tells of a holder that is gone before its lock is stale, also where it is not the first", async () => {
  const [dead, alive] = [gone(31, 20_000), clientRow(32, { app: "api", host: "web-1", pid: 2 })];
  const readers = [holderOf(alive, 1_000), holderOf(dead, 1_000)];
  const snapshot = nightWith(
    lockRow("one", [holderOf(dead, 1_000)]),
    lockRow("two", readers, { kind: "read-write-lock" }),
    lockRow("stale", [holderOf(dead, 1_000)], { flags: ["stale"] }),
    lockRow("there", [holderOf(alive, 1_000)]),
  );
  const { url } = await serve({ snapshot });
  const page = await whenLive(await open(url));
  const stateOf = (name: string) =>
    page
      .locator("tbody tr", { has: page.getByText(name, { exact: true }) })
      .locator(".c-state")
      .textContent();
  expect(await stateOf("one")).toBe("gone");
  expect(await stateOf("two")).toBe("1 gone");
  expect(await page.locator("tr.is-stale .c-state").textContent()).toBe("stale");
  expect(await stateOf("there")).toBe("");
});

it("shows how many wait for a stale lock with the same weight, also those that are only counted", async () => {
  const dead = gone(31, 20_000);
  const [waited] = night().locks;
  const { waiting = [] } = waited ?? {};
  const snapshot = nightWith(
    lockRow("stale", [holderOf(dead, 1_000)], { flags: ["stale"], waiting }),
    lockRow("counted", [holderOf(dead, 1_000)], { more: { holders: 0, waiting: 7 } }),
  );
  const { url } = await serve({ snapshot });
  const page = await whenLive(await open(url));
  const styles = await page.locator(".c-waiting").evaluateAll((cells) =>
    cells.slice(1).map((cell) => {
      const { color, fontWeight } = getComputedStyle(cell);
      return `${fontWeight} ${color}`;
    }),
  );
  expect(new Set(styles)).toEqual(new Set(["600 rgb(127, 79, 0)"]));
});

it("lists clients that are gone by when they were heard of, the latest first", async () => {
  const clients = [gone(1, 90_000, "a"), gone(2, 20_000, "c"), gone(3, 50_000, "b")];
  const there = clientRow(4, { app: "0", host: "pod-4", pid: 4 });
  const { url } = await serve({ snapshot: { ...night(), clients: [there, ...clients] } });
  const page = await whenLive(await open(`${url}#/clients`));
  await page.locator("[data-row]").first().waitFor();
  expect(await page.locator("[data-row]").allTextContents()).toEqual(["c", "b", "a", "0"]);
});

it("speaks of tokens and threads only where there are any", async () => {
  const owner = clientRow(32, { app: "api", host: "web-1", pid: 2 });
  const snapshot = nightWith(
    lockRow("fenced", [holderOf(owner, 1)], { kind: "fenced-lock" }),
    lockRow("plain", [holderOf(owner, 1)]),
    lockRow("permits", [holderOf(owner, 1, { holder: owner.id })], { kind: "permit-expirable-semaphore" }),
  );
  const { url } = await serve({ snapshot });
  const textOf = async (name: string) => {
    const page = await whenLive(await open(`${url}#/locks?lock=${name}`));
    await page.locator(".facts-list").waitFor();
    return await page.locator(".panel").textContent();
  };
  expect(await textOf("fenced")).toMatch(/Tokennone.*/);
  const [plain, permits] = [await textOf("plain"), await textOf("permits")];
  expect(plain).not.toContain("Token");
  expect(plain).toContain("thread 1");
  expect(permits).not.toMatch(/Token|thread/);
});

it("shows an event whole, its reason before the holder", async () => {
  const [first] = night().events;
  if (first === undefined) throw new Error("the night has no events");
  const holder = `billing@pod-2 pid 17 (${"0".repeat(8)}-aaaa-8aaa-aaaa-${"0".repeat(12)}:1)`;
  const reason = "stuck since three in the morning, and the customer has called twice about the invoice";
  const event = { ...first, type: "forced" as const, actor: "root", holder, reason };
  const { url } = await serve({ snapshot: { ...night(), events: [event] } });
  for (const width of [1_600, 700, 320]) {
    const page = await whenLive(await open(`${url}#/events`, { width }));
    const cell = page.locator("tbody .c-what");
    expect(await cell.textContent()).toBe(`root freed it: ${reason}. It was held by ${holder}.`);
    const isWhole = await cell.evaluate(
      ({ scrollWidth, clientWidth, scrollHeight, clientHeight }) =>
        scrollWidth <= clientWidth && scrollHeight <= clientHeight,
    );
    expect([width, isWhole]).toEqual([width, true]);
  }
});
