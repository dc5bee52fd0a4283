import { expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { AT_MS, night } from "../support/page/fleet.js";
import type { MockServer } from "../support/page/mock-server.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

const asked = (server: MockServer, query: string) =>
  server.requests.filter((request) => request.query.startsWith(query)).length;

async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate((hidden) => {
    const state = hidden ? "hidden" : "visible";
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}

it("takes the token out of the address, sends it as Bearer, and knows it after a reload", async () => {
  const server = await serve({ token: "s3cret" });
  const page = await whenLive(await open(`${server.url}#token=s3cret`));
  expect(page.url()).not.toContain("s3cret");
  const data = server.requests.filter(({ query }) => /^\?(?:me|feed)/.test(query));
  expect(data.map(({ headers }) => headers.authorization)).toEqual(["Bearer s3cret", "Bearer s3cret"]);
  expect(server.requests.every(({ query }) => !query.includes("s3cret"))).toBe(true);
  await page.reload();
  await whenLive(page);
});

it("says what to open where the token is missing or wrong, and takes the right one in the same tab", async () => {
  const server = await serve({ token: "s3cret" });
  const page = await open(server.url);
  await page.getByText("The inspector needs a token.").waitFor();
  await page.goto(`${server.url}#token=s3cret`);
  await whenLive(page);
  expect(page.url()).not.toContain("s3cret");
});

it("connects again by itself, and clears nothing until then", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  server.state.refusal = 503;
  server.cut();
  await page.getByText("No connection to the inspector").waitFor();
  expect(await page.locator("tbody tr").count()).toBe(12);
  delete server.state.refusal;
  await whenLive(page);
  expect(await page.locator(".banner").count()).toBe(0);
});

it("tells since when Redis is away, is not called live meanwhile, and keeps what was known [I5]", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  const away = { sinceMs: AT_MS - 65_000, reason: "connect ECONNREFUSED" };
  server.change({ atMs: AT_MS, away });
  const banner = page.getByRole("alert");
  await banner.waitFor();
  expect(await banner.textContent()).toMatch(/since 03:11:35 \(1 min 0\d s\): connect ECONNREFUSED/);
  expect(await page.locator("tbody tr").count()).toBe(12);
  const status = page.locator(".status");
  expect(await status.textContent()).toBe("Redis away");
  expect(await page.locator(".status.live").count()).toBe(0);
  server.change({ atMs: AT_MS, away: null });
  await banner.waitFor({ state: "detached" });
  expect(await status.textContent()).toBe("live");
});

it("asks for nothing while nobody looks", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  await hide(page, true);
  await expect.poll(() => server.feeds).toBe(0);
  const { length } = server.requests;
  await hide(page, false);
  await whenLive(page);
  expect(server.requests.length).toBe(length + 2);
});

it("polls where 40 s pass without a byte", async () => {
  const server = await serve({ holdsFeed: true });
  const page = await open(server.url, { stoppedAtMs: AT_MS });
  await expect.poll(() => asked(server, "?feed")).toBe(1);
  await page.clock.runFor(4_000);
  await expect.poll(() => asked(server, "?snapshot")).toBe(1);
  await page.locator("tbody tr").first().waitFor();
  await page.clock.runFor(36_500);
  await page.locator(".status.polling").waitFor();
  const before = asked(server, "?snapshot");
  await page.clock.runFor(5_100);
  await expect.poll(() => asked(server, "?snapshot")).toBe(before + 1);
});

it("tells losses, and nothing else, to those who listen to it", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  const log = page.getByRole("log");
  expect(await log.textContent()).toBe("");
  server.event({ id: 20, atMs: AT_MS, type: "stale", key: "nightly" });
  server.event({
    id: 21,
    atMs: AT_MS,
    type: "lost",
    key: "order:42",
    client: "api@web-7",
    reason: "expired",
  });
  await page.getByRole("navigation").getByText("1").waitFor();
  expect((await log.textContent())?.trim()).toBe("order:42: api@web-7 lost it: expired");
});

it("tells losses of an inspector that has started anew, which counts from one again", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  server.state.snapshot = { ...server.state.snapshot, events: [] };
  server.cut();
  await page.locator(".status.lost").waitFor();
  await whenLive(page);
  server.event({ id: 1, atMs: AT_MS, type: "lost", key: "nightly", client: "jobs@pod-9", reason: "expired" });
  await page.getByRole("navigation").getByText("1").waitFor();
  expect((await page.getByRole("log").textContent())?.trim()).toContain("nightly");
});

it("lets the server filter and sort where there are more locks than it sends", async () => {
  const server = await serve({ snapshot: { ...night(), more: 1_800 } });
  const page = await whenLive(await open(server.url));
  await page.getByRole("button", { name: "Held for" }).click();
  await page.locator("#filter").fill("order");
  await page.getByRole("button", { name: "stale" }).click();
  await expect.poll(() => asked(server, "?feed&match=*order*&sort=age&only=stale")).toBe(1);
});

it("begins a search through all keys only when asked", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  expect(asked(server, "?scan")).toBe(0);
  await page.getByRole("button", { name: "Search all keys" }).click();
  await expect.poll(() => asked(server, "?scan")).toBe(1);
  server.change({ scan: { state: "running", startedMs: AT_MS, found: 3, reason: null } });
  await page.getByText("Searching… 3 found").waitFor();
});
