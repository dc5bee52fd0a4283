import { expect, it } from "vitest";
import { chromiumPages, type Page, scrollsSideways, whenLive } from "../support/page/chromium.js";
import { clientRow, holderOf, lockRow, meOf, night } from "../support/page/fleet.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

const IMAGE = '<img src=x onerror="document.title=1">';
const RTL = "\u202egnp.exe\u2066 שלום\u0007\u200b";
const SHOWN_RTL = "\\u{202e}gnp.exe\\u{2066} שלום\\u{7}\\u{200b}";
const LONG = "k".repeat(10_240);

function evil() {
  const client = {
    ...clientRow(1, { app: IMAGE, host: RTL, pid: 1 }),
    labels: { pod: "javascript:alert(1)", [IMAGE]: RTL },
    runtime: IMAGE,
  };
  const holder = holderOf(client, 1_000, { note: `${IMAGE}${RTL}` });
  const locks = [IMAGE, RTL, LONG].map((name) => lockRow(name, [holder]));
  const events = [{ id: 1, atMs: 0, type: "lost" as const, key: IMAGE, client: RTL, reason: LONG }];
  return { ...night(), locks, clients: [client], events };
}

async function elementsOf(page: Page): Promise<number> {
  return page.locator("img, script:not([src]), [onerror], [style*='expression']").count();
}

it.each(["#/locks", "#/clients", "#/events", "#/time"])(
  "shows what strangers wrote as text, at %s",
  async (at) => {
    const { url } = await serve({ snapshot: evil() });
    const page = await whenLive(await open(url + at));
    expect(await elementsOf(page)).toBe(0);
    expect(await page.title()).toBe("Locks");
    expect(await scrollsSideways(page)).toBe(false);
  },
);

it("writes out what could turn or hide a text, and cuts what is long", async () => {
  const { url } = await serve({ snapshot: evil() });
  const page = await whenLive(await open(url));
  const names = await page.locator("[data-row]").allTextContents();
  expect(names).toHaveLength(3);
  expect(names).toContain(IMAGE);
  expect(names).toContain(SHOWN_RTL);
  expect(names).toContain(`${"k".repeat(200)}…`);
  const isTurned = (await page.content()).includes("\u202e");
  expect(isTurned).toBe(false);
});

it.each([IMAGE, RTL, LONG])("opens the panel and the dialog of %.20s", async (name) => {
  const { url } = await serve({ snapshot: evil() });
  const page = await whenLive(await open(`${url}#/locks?lock=${encodeURIComponent(name)}`, { width: 320 }));
  await page.locator("[data-key=f]").click();
  await page.getByRole("dialog").waitFor();
  expect(await elementsOf(page)).toBe(0);
  expect(await scrollsSideways(page)).toBe(false);
});

it("makes no link of a label that is no address, and encodes the others", async () => {
  const links = { client: "{labels.pod}", trace: "https://traces.example/?q={note}" };
  const { url } = await serve({ snapshot: evil(), me: meOf({ links }) });
  const page = await whenLive(await open(`${url}#/locks?lock=${encodeURIComponent(IMAGE)}`));
  await page.getByRole("link", { name: "Open trace" }).waitFor();
  const hrefs = await page
    .locator(".panel a")
    .evaluateAll((found) => found.map((element) => element.getAttribute("href")));
  expect(hrefs).toEqual([`https://traces.example/?q=${encodeURIComponent(IMAGE + RTL)}`]);
});
