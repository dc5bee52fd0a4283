import { expect, it } from "vitest";
import type { FeedSnapshot, LockDetail, LockRow } from "../../src/inspector/format.js";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { clientRow, detailOf, holderOf, lockRow, meOf, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();
const NAME = "partner-api";
const idOf = (nth: number) => String(nth).repeat(32);

const dead = clientRow(1, { app: "jobs", host: "pod-9", pid: 1, state: "gone", lastSeenMs: 43_000 });
const alive = clientRow(2, { app: "api", host: "web-7", pid: 3121 });
const permanent = holderOf(dead, 90_000, {
  ...{ holder: dead.id, count: 2, renewed: null, permanent: true, permitIds: [idOf(1), idOf(2)] },
});
const leased = holderOf(dead, 80_000, {
  ...{ holder: dead.id, renewed: false, permitIds: [idOf(3)], note: "nightly sync" },
});
const living = holderOf(alive, 5_000, { holder: alive.id, renewed: true, permitIds: [idOf(4)] });

/** A semaphore of six: three permits of a process that has died, one of a living one, one of nobody that tells. */
function leaked(): { snapshot: FeedSnapshot; detail: (key: string) => LockDetail } {
  const whole = lockRow(NAME, [permanent, leased, living], {
    ...{ kind: "permit-expirable-semaphore", ttlMs: -1, flags: ["leaked", "fixed"] },
    ...{ available: 1, takenCount: 5, permanentCount: 3 },
  });
  const short: LockRow = {
    ...whole,
    holders: whole.holders.map(({ permitIds: _, ...holder }) => holder),
  };
  const plain = lockRow(
    "plain",
    [holderOf(dead, 9_000, { holder: dead.id, renewed: null, permanent: true })],
    {
      ...{ kind: "semaphore", ttlMs: -1, flags: ["leaked"], available: 1 },
    },
  );
  const free = lockRow("free", [], { kind: "semaphore", ttlMs: -1, available: 1 });
  const latch = lockRow("latch", [], { kind: "count-down-latch", ttlMs: -1, available: 3 });
  const snapshot = { ...night(), locks: [short, plain, free, latch], clients: [dead, alive] };
  const permits = [1, 2, 3, 4, 5].map((nth) => ({ id: idOf(nth), endsInMs: nth === 3 ? 3_180_000 : -1 }));
  const detail = (key: string) =>
    key === NAME
      ? {
          ...detailOf(snapshot, key),
          lock: whole,
          permits,
          unlock: `holdfast release --client ${dead.id} -- ${NAME}`,
        }
      : { ...detailOf(snapshot, key), unlock: null };
  return { snapshot, detail };
}

const panelOf = async (page: Page) => (await page.locator(".panel").textContent()) ?? "";

it("tells how many of how many are out, and which never return [I8]", async () => {
  const { url } = await serve(leaked());
  const page = await whenLive(await open(`${url}#/locks`, { width: 1_600 }));
  const rowOf = async (name: string) =>
    (await page.locator("tbody tr", { has: page.getByText(name, { exact: true }) }).textContent()) ?? "";
  const row = await rowOf(NAME);
  expect(row).toContain("5 of 6 taken · jobs@pod-9");
  expect(row).toContain("never returns");
  expect(row).toContain("leaked");
  expect(await rowOf("plain")).toContain("1 available · jobs@pod-9");
  expect(await rowOf("free")).toContain("1 available");
  expect(await rowOf("latch")).toContain("3 to count down");
  for (const name of [NAME, "plain", "free", "latch"])
    expect(await rowOf(name)).not.toMatch(/no TTL|not held/);
});

it("tells whose each permit is, and offers a line that the command line takes [I8]", async () => {
  const { url } = await serve(leaked());
  const page = await whenLive(await open(`${url}#/locks?lock=${NAME}`));
  await page.locator(".permits li").first().waitFor();
  const text = await panelOf(page);
  expect(text).toContain("5 of 6 taken, 3 never return by themselves");
  expect(text).not.toMatch(/no TTL|watchdog.*unlock|unlock --force|thread/);
  const cards = await page.locator(".cards > li").allTextContents();
  expect(cards).toHaveLength(4);
  expect(cards[0]).toMatch(/^jobs@pod-92 permitsgone for 4\d s.*never returns by itself/);
  expect(cards[0]).toContain(idOf(1));
  expect(cards[1]).toMatch(/1 permit.*nightly sync.*fixed lease.*3{32} returns in 5[23] min/);
  expect(cards[2]).toMatch(/^api@web-71 permit.*renewed by its watchdog/);
  expect(cards[3]).toMatch(/^unknown client1 permit5{32} never returns/);
  expect(text).toContain(`holdfast release --client ${dead.id} -- ${NAME}`);
  expect(await page.locator("[data-key=f]").count()).toBe(0);
});

it("gives back what was shown, once its name is typed [I8]", async () => {
  const server = await serve(leaked());
  const page = await whenLive(await open(`${server.url}#/locks?lock=${NAME}`));
  await page.getByRole("button", { name: "Give back…" }).first().click();
  const dialog = page.getByRole("dialog", { name: `Give back 2 permits of ${NAME}?` });
  const text = await dialog.textContent();
  for (const part of ["jobs@pod-9, pid 1", idOf(1), idOf(2), "Its client is gone", "all of them, or none"])
    expect(text).toContain(part);
  expect(text).not.toContain(idOf(3));
  await dialog.getByRole("textbox").first().fill(NAME);
  await dialog.getByRole("textbox").last().fill("jobs died");
  await dialog.getByRole("button", { name: "Give back" }).click();
  await dialog.getByText("Given back.").waitFor();
  const post = server.requests.find(({ method }) => method === "POST");
  expect([post?.query, post?.headers["holdfast-permits"]]).toEqual([
    `?release=${NAME}&reason=jobs%20died`,
    `${idOf(1)},${idOf(2)}`,
  ]);
});

it.each([
  [{ outcome: "changed", now: null } as const, "Some were given back meanwhile; nothing was done."],
  [{ outcome: "absent", now: null } as const, "They were given back already; nothing was done."],
  [{ status: 503 }, "It is not known whether it was freed (503 refused by the test). Look again."],
])("reports %j", async (freed, text) => {
  const { url } = await serve({ ...leaked(), freed });
  const page = await whenLive(await open(`${url}#/locks?lock=${NAME}`));
  await page.getByRole("button", { name: "Give back…" }).last().click();
  const dialog = page.getByRole("dialog");
  expect(await dialog.textContent()).toContain("No client with presence has these permits");
  await dialog.getByRole("textbox").first().fill(NAME);
  await dialog.getByRole("button", { name: "Give back" }).click();
  await dialog.getByText(text).waitFor();
  expect(await dialog.getByRole("button", { name: "Give back" }).count()).toBe(0);
});

it("offers nothing to those that may only read, and says where permits cannot be read", async () => {
  const { snapshot, detail } = leaked();
  const reader = await serve({ snapshot, detail, me: meOf({ role: "read" }) });
  const page = await whenLive(await open(`${reader.url}#/locks?lock=${NAME}`));
  await page.locator(".permits li").first().waitFor();
  expect(await page.getByRole("button", { name: "Give back…" }).count()).toBe(0);
  const blind = await serve({ snapshot, detail: (key) => ({ ...detail(key), permits: null }) });
  const other = await whenLive(await open(`${blind.url}#/locks?lock=${NAME}`));
  await other.getByText("The permits could not be read.").waitFor();
});
