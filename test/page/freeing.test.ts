import { expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { detailOf, meOf, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

async function openDialog(page: Page) {
  await page.locator("[data-key=f]").click();
  const dialog = page.getByRole("dialog");
  await dialog.waitFor();
  return dialog;
}

it("says from which holder, since when and what for, and what can go wrong", async () => {
  const { url } = await serve();
  const dialog = await openDialog(await whenLive(await open(`${url}#/locks?lock=order%3A42`)));
  const text = await dialog.textContent();
  for (const part of [
    "api@web-7, pid 3121",
    "Held for4",
    "invoice 42",
    "a third of its lease",
    "token than 18014",
  ])
    expect(text).toContain(part);
});

it.each([
  ["report", "The JVM that holds it is not notified"],
  ["report", "The first in the queue gets it"],
  ["catalogue", "All 4 holders lose it at once"],
  ["nightly", "Its client is gone"],
  ["mail:digest", "Its lease is fixed"],
  ["migrate:2026-11", "The JVM that holds it is not notified"],
])("warns before %s is freed: %s", async (name, risk) => {
  const { url } = await serve();
  const page = await whenLive(await open(`${url}#/locks?lock=${encodeURIComponent(name)}`));
  expect(await (await openDialog(page)).textContent()).toContain(risk);
});

it("frees nothing before the name is typed, and then tells the reason", async () => {
  const server = await serve();
  const dialog = await openDialog(await whenLive(await open(`${server.url}#/locks?lock=order%3A42`)));
  const free = dialog.getByRole("button", { name: "Free it" });
  const [name, reason] = await dialog.getByRole("textbox").all();
  await name?.fill("order:4");
  expect(await free.isDisabled()).toBe(true);
  await name?.press("Enter");
  await name?.fill("order:42");
  await reason?.fill("stuck since 3");
  await free.click();
  await dialog.getByText("Freed.").waitFor();
  const posts = server.requests.filter(({ method }) => method === "POST");
  expect(posts.map(({ query }) => query)).toEqual(["?free=order%3A42&reason=stuck%20since%203"]);
});

it.each([
  [
    { outcome: "changed", now: "worker@pod-3" } as const,
    "It passed to worker@pod-3 meanwhile; nothing was done.",
  ],
  [{ outcome: "changed", now: null } as const, "It changed meanwhile; nothing was done."],
  [{ outcome: "absent", now: null } as const, "It was free already; nothing was done."],
  [{ status: 403 }, "Nothing was freed: refused by the test"],
  [{ status: 400 }, "Nothing was freed: refused by the test"],
  [{ status: 429 }, "Too many were freed in the last minute."],
  [{ status: 503 }, "It is not known whether it was freed (503 refused by the test). Look again."],
])("reports %j", async (freed, text) => {
  const { url } = await serve({ freed });
  const dialog = await openDialog(await whenLive(await open(`${url}#/locks?lock=order%3A42`)));
  await dialog.getByRole("textbox").first().fill("order:42");
  await dialog.getByRole("button", { name: "Free it" }).click();
  await dialog.getByText(text).waitFor();
  expect(await dialog.getByRole("button", { name: "Free it" }).count()).toBe(0);
});

it("frees what was shown, and tells that it has changed since", async () => {
  const server = await serve();
  const page = await whenLive(await open(`${server.url}#/locks?lock=order%3A42`));
  const dialog = await openDialog(page);
  const [seen] = server.state.snapshot.locks;
  const now = night().locks.find(({ key }) => key === "nightly");
  if (seen === undefined || now === undefined) throw new Error("the fleet has no such locks");
  server.change({ put: [{ ...seen, holders: now.holders, seen: "another" }] });
  await dialog.getByText("It has changed since you opened this.").waitFor();
  await dialog.getByRole("textbox").first().fill("order:42");
  await dialog.getByRole("button", { name: "Free it" }).click();
  await dialog.getByText("Freed.").waitFor();
  expect(server.requests.find(({ method }) => method === "POST")?.headers["holdfast-seen"]).toBe(seen.seen);
});

it("reads a lock anew that the feed does not list, and warns of a change only where there is one", async () => {
  const [first] = night().locks;
  if (first === undefined) throw new Error("the night has no locks");
  let row = { ...first, key: "far", name: "far" };
  const detail = () => ({ ...detailOf(night(), "order:42"), lock: row });
  const server = await serve({ detail });
  const page = await whenLive(await open(`${server.url}#/locks?lock=far`));
  const dialog = await openDialog(page);
  const warning = dialog.getByText("It has changed since you opened this.");
  expect(await warning.count()).toBe(0);
  row = { ...row, seen: "another" };
  server.change({ atMs: Date.now() });
  await warning.waitFor();
});

it("offers nothing to those that may only read, nor for what has no holders to compare", async () => {
  const reader = await serve({ me: meOf({ role: "read" }) });
  const page = await whenLive(await open(`${reader.url}#/locks?lock=order%3A42`));
  await page.getByText("From a shell").waitFor();
  expect(await page.locator("[data-key=f]").count()).toBe(0);
  const { url } = await serve();
  const other = await whenLive(await open(`${url}#/locks?lock=thumbnails`));
  await other.getByText("From a shell").waitFor();
  expect(await other.locator("[data-key=f]").count()).toBe(0);
});

it.each([
  [
    "whose client does not tell",
    3_180_000,
    /It is not known whether a watchdog renews it.*for another 5[23] min/,
  ],
  ["without a TTL", -1, /It is not known whether a watchdog renews it.*has no end/],
])("promises no renewal for a lease %s [I7]", async (_, ttlMs, text) => {
  const [first] = night().locks;
  if (first === undefined) throw new Error("the night has no locks");
  const holders = first.holders.map((holder) => ({ ...holder, renewed: null, sinceMs: null }));
  const { url } = await serve({ snapshot: { ...night(), locks: [{ ...first, ttlMs, holders }] } });
  const dialog = await openDialog(await whenLive(await open(`${url}#/locks?lock=order%3A42`)));
  const told = await dialog.textContent();
  expect(told).toMatch(text);
  expect(told).not.toContain("renewal fails");
});

it("says after a free who has it by then, and not that it is free [I6]", async () => {
  const server = await serve();
  const dialog = await openDialog(await whenLive(await open(`${server.url}#/locks?lock=order%3A42`)));
  await dialog.getByRole("textbox").first().fill("order:42");
  await dialog.getByRole("button", { name: "Free it" }).click();
  await dialog.getByText("Freed.").waitFor();
  const [seen, other] = server.state.snapshot.locks.filter(({ key }) => /^order:42$|^deploy/.test(key));
  if (seen === undefined || other === undefined) throw new Error("the fleet has no such locks");
  server.change({ put: [{ ...seen, holders: other.holders, seen: "another" }] });
  await dialog.getByText("Freed. ci@runner-2 has it now.").waitFor();
  expect(await dialog.textContent()).not.toContain("It is free");
});

it("tells the same age in the dialog as in the panel, however long it is open", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(`${url}#/locks?lock=order%3A42`));
  const dialog = await openDialog(page);
  const inPanel = page.locator(".panel .age").first();
  const before = await inPanel.textContent();
  await expect.poll(() => inPanel.textContent()).not.toBe(before);
  const [panel, told] = await page.evaluate(() =>
    [".panel .age", "dialog dd.number"].map((at) => document.querySelector(at)?.textContent),
  );
  expect(told).toBe(panel);
  expect(await dialog.textContent()).toContain(panel);
});

it("says that nothing was freed where the lock could not even be looked at [I9]", async () => {
  const { url } = await serve({ freed: { status: 503, nothingDone: true } });
  const dialog = await openDialog(await whenLive(await open(`${url}#/locks?lock=order%3A42`)));
  await dialog.getByRole("textbox").first().fill("order:42");
  await dialog.getByRole("button", { name: "Free it" }).click();
  await dialog.getByText("Nothing was freed: refused by the test").waitFor();
  expect(await dialog.textContent()).not.toContain("not known whether");
});
