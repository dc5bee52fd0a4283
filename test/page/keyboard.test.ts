import { expect, it } from "vitest";
import { chromiumPages, type Page, whenLive } from "../support/page/chromium.js";
import { served } from "../support/page/served.js";

const open = chromiumPages();
const serve = served();

function focused(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent ?? "");
}

async function press(page: Page, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

it("goes through the rows by arrows, opens one by Enter, and gives the focus back on Esc", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  await page.locator("[data-row][tabindex='0']").focus();
  expect(await focused(page)).toBe("order:42");
  await press(page, "ArrowDown", "j", "ArrowUp");
  expect(await focused(page)).toBe("report");
  await press(page, "End", "Home", "ArrowDown", "Enter");
  await page.getByRole("region", { name: "Lock report" }).waitFor();
  await expect.poll(() => focused(page)).toBe("report");
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H2");
  await press(page, "Escape");
  await page.getByRole("region").waitFor({ state: "detached" });
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("BUTTON");
  expect(await focused(page)).toBe("report");
});

it.each(["j", "k", "ArrowDown", "ArrowUp"])(
  "leads %s to the rows from wherever the focus is not in use",
  async (key) => {
    const { url } = await serve();
    const page = await whenLive(await open(url));
    await press(page, key);
    expect(await focused(page)).toBe("order:42");
    await press(page, "j");
    expect(await focused(page)).toBe("report");
    await press(page, "2");
    await page.locator("table.clients").waitFor();
    await press(page, key);
    expect(await focused(page)).toBe("jobs");
  },
);

it("leaves the arrows to a panel, which they scroll", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(`${url}#/locks?lock=order%3A42`));
  await expect.poll(() => page.evaluate(() => document.activeElement?.tagName)).toBe("H2");
  await press(page, "ArrowDown");
  expect(await page.evaluate(() => document.activeElement?.tagName)).toBe("H2");
});

it("leads Tab to one row of all", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  expect(await page.locator("[data-row][tabindex='0']").count()).toBe(1);
});

it("frees a lock without a pointer", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  await press(page, "/");
  await expect.poll(() => page.evaluate(() => document.activeElement?.id)).toBe("filter");
  await page.keyboard.type("order:*");
  await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
  await page.locator("[data-row]").focus();
  await press(page, "Enter");
  await page.locator("[data-key=f]").waitFor();
  await press(page, "f");
  const dialog = page.getByRole("dialog", { name: "Free order:42?" });
  await dialog.waitFor();
  await page.keyboard.type("order:42");
  await press(page, "Enter");
  await dialog.getByText("Freed.").waitFor();
  const post = server.requests.find(({ method }) => method === "POST");
  expect(post?.query).toBe("?free=order%3A42");
  expect(post?.headers["holdfast-seen"]).toBe(server.state.snapshot.locks[0]?.seen);
});

it("closes by Esc the dialog alone, and the panel by the next", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(`${url}#/locks?lock=order%3A42`));
  await page.locator("[data-key=f]").waitFor();
  await press(page, "f");
  await page.getByRole("dialog").waitFor();
  await press(page, "Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await page.getByRole("region").count()).toBe(1);
  await press(page, "Escape");
  await page.getByRole("region").waitFor({ state: "detached" });
});

it("shows its keys by ?, and switches screens by numbers until letters are turned off", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  await press(page, "2");
  await page.locator("table.clients").waitFor();
  await press(page, "4");
  await page.locator("table.events").waitFor();
  await press(page, "?");
  const help = page.getByRole("dialog", { name: "Keys" });
  await help.getByRole("checkbox").click();
  await press(page, "Escape");
  await help.waitFor({ state: "detached" });
  await press(page, "2");
  expect(await page.locator("table.events").count()).toBe(1);
});

it("keeps the focus and the text where they are while everything changes", async () => {
  const server = await serve();
  const page = await whenLive(await open(server.url));
  await page.locator("[data-row]").nth(2).focus();
  const name = await focused(page);
  const top = () => page.evaluate(() => document.activeElement?.getBoundingClientRect().top);
  const before = await top();
  const { locks } = server.state.snapshot;
  const put = locks.slice(3).map((row) => ({ ...row, ttlMs: 1_000, waiting: locks[0]?.waiting ?? [] }));
  server.change({ put, gone: ["order:42"] });
  await page.locator("tr.is-freed").waitFor();
  expect(await focused(page)).toBe(name);
  expect(await top()).toBe(before);
});

it("types into the filter what follows its key, however soon", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  const focusedAtOnce = await page.evaluate(() => {
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true }));
    return document.activeElement?.id;
  });
  expect(focusedAtOnce).toBe("filter");
});

it("hides at once what the filter does not let through, though the pointer is among the rows [I1]", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  await page.locator("[data-row]").nth(3).hover();
  await press(page, "/");
  await page.keyboard.type("order");
  await expect.poll(() => page.locator("tbody tr").count()).toBe(1);
  expect(await page.locator("tr.is-freed").count()).toBe(0);
});

it("skips to the content", async () => {
  const { url } = await serve();
  const page = await whenLive(await open(url));
  await press(page, "Tab");
  expect(await focused(page)).toBe("Skip to the content");
  await press(page, "Enter");
  expect(await page.evaluate(() => document.activeElement?.id)).toBe("content");
});
