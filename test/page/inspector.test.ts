import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { Holdfast } from "../../src/index.js";
import { type Inspector, type InspectorOptions, inspector } from "../../src/inspector/index.js";
import { MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { chromiumPages, whenLive } from "../support/page/chromium.js";

const open = chromiumPages();
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

let server: MemoryServer;
beforeEach(() => {
  server = new MemoryServer();
});

function client(app: string): Holdfast {
  const holdfast = new Holdfast(memoryDriver(server), { presence: { app, host: false, everyMs: 1_000 } });
  closing.push(() => holdfast.close());
  return holdfast;
}

/** The inspector itself, below a path, as it is mounted in an application. */
async function mounted(options: Partial<InspectorOptions> = {}): Promise<string> {
  const authorize = () => ({ role: "operate", actor: "ada" }) as const;
  const locks: Inspector = inspector(client("inspector"), { authorize, refreshMs: 500, ...options });
  const http = createServer((request, response) => locks.node(request, response));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  closing.push(async () => {
    locks.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/a/b/locks`;
}

it.each(["", "/"])(
  "shows who has a lock and who waits, and frees it, mounted below a path: %j",
  async (slash) => {
    const url = await mounted();
    const lock = client("billing").getLock("order:42");
    const lease = await lock.lock({ note: "invoice 42" });
    const waiting = client("api").getLock("order:42").lock();
    waiting.catch(() => undefined);
    const page = await whenLive(await open(url + slash));
    const row = page.locator("tbody tr", { hasText: "order:42" });
    await row.getByText("billing", { exact: false }).waitFor();
    await expect.poll(() => row.locator(".c-waiting").textContent()).toBe("1");
    expect(await row.textContent()).toContain("invoice 42");
    await row.click();
    await page.locator(".panel code").getByText("-- order:42").waitFor();
    await page.locator("[data-key=f]").click();
    const dialog = page.getByRole("dialog", { name: "Free order:42?" });
    await dialog.getByRole("textbox").first().fill("order:42");
    await dialog.getByRole("button", { name: "Free it" }).click();
    await dialog.getByText("Freed.").waitFor();
    const next = await waiting;
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await row.getByText("api", { exact: false }).waitFor();
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByText("ada freed it. It was held by billing", { exact: false }).waitFor();
    await next.unlock();
    await expect(lease.unlock()).rejects.toMatchObject({
      code: expect.stringMatching(/^ERR_HOLDFAST_(?:NOT_HELD|LEASE_LOST)$/),
    });
  },
);

it("numbers the clients that wait for permits in the order of their queue, those without presence as well", async () => {
  const url = await mounted();
  const [api, silent] = [client("api"), new Holdfast(memoryDriver(server))];
  closing.push(() => silent.close());
  const over = new AbortController();
  server.command("SET", "pool", 0);
  const places = () => Number(server.command("ZCOUNT", "holdfast_waiting:{pool}", "1", "+inf"));
  for (const [at, [waits, permits]] of [
    [api, 2] as const,
    [silent, 1] as const,
    [api, 1] as const,
  ].entries()) {
    const waiting = waits.getSemaphore("pool").acquire(permits, { signal: over.signal });
    waiting.catch(() => undefined);
    const lostRace = () => {
      server.command("PUBLISH", "redisson_sc:{pool}", "1");
      return places();
    };
    await expect.poll(lostRace).toBe(at + 1);
  }
  const page = await whenLive(await open(`${url}#/locks?lock=pool`));
  await expect.poll(() => page.locator(".panel .queue .has-place").count()).toBe(3);
  const queue = page.locator("section", { has: page.locator(".queue") });
  expect(await queue.locator("h3").allTextContents()).toContain("3 waiting, in this order");
  const starts = async () =>
    (await queue.locator("li > span:first-child").allTextContents()).map((text) => text.slice(0, 8));
  await expect
    .poll(starts, { timeout: 25_000 })
    .toEqual(["api pid ", silent.clientId.slice(0, 8), "api pid "]);
  over.abort(new Error("enough"));
  await expect.poll(places).toBe(0);
});

it("shows nothing where authorize answers none", async () => {
  const url = await mounted({
    authorize: (request) => ({ role: request.url.includes("?me") ? "none" : "read" }),
  });
  const page = await open(url);
  await page.getByText("There is no inspector for you at this address.").waitFor();
  expect(await page.locator("tbody tr").count()).toBe(0);
});
