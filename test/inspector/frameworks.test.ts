import { afterEach, describe, expect, test } from "vitest";
import { Holdfast } from "../../src/index.js";
import { assets } from "../../src/inspector/assets.js";
import type { LockDetail } from "../../src/inspector/format.js";
import { type InspectorOptions, inspector } from "../../src/inspector/index.js";
import { memoryDriver } from "../../src/memory/index.js";
import { mounts, PATH } from "../support/inspector/mounts.js";
import { until } from "../support/run/until.js";

const [asset = ""] = Object.keys(assets).filter((name) => name !== "index.html");

/** What is to be closed after the test. */
const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

describe.each(mounts)("mounted in %s", (name, mount) => {
  /** An inspector at the address that is returned. */
  async function mounted(how: Partial<InspectorOptions> = {}): Promise<{ base: string; natives: unknown[] }> {
    const holdfast = new Holdfast(memoryDriver());
    const natives: unknown[] = [];
    const authorize = (_: Request, native: unknown) => {
      natives.push(native);
      return { role: "operate", actor: "ada" } as const;
    };
    const locks = inspector(holdfast, { authorize, ...how });
    open.push(() => holdfast.close());
    const base = await mount(locks, (close) => open.push(close));
    open.push(() => locks.close());
    return { base, natives };
  }

  test.each([PATH, `${PATH}/`])("at %s it answers all that the page asks for", async (path) => {
    const { base } = await mounted();
    const at = base + path;
    const page = await fetch(at);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    // One policy: a second one would stand behind a comma.
    expect(page.headers.get("content-security-policy")).toMatch(/^default-src 'none'[^,]*$/);
    expect(await page.text()).toMatch(/^<!doctype html>/i);
    // Its scripts and styles are asked for relative to it.
    const file = await fetch(new URL(`?asset=${asset}`, at));
    expect([file.status, (await file.text()).length > 10]).toEqual([200, true]);
    expect(await (await fetch(`${at}?me`)).json()).toMatchObject({ role: "operate", actor: "ada" });
    expect((await (await fetch(`${at}?lock=a%20%2F%3F%26`)).json()) as LockDetail).toMatchObject({
      lock: null,
    });
    expect((await fetch(`${at}?feed`, { method: "HEAD" })).status).toBe(200);
    expect((await fetch(at, { method: "OPTIONS" })).status).toBe(405);
  });

  test("a feed begins at once, and ends for the server when the reader has left", async () => {
    const { base } = await mounted({ maxViewers: 1 });
    const leaving = new AbortController();
    const response = await fetch(`${base}${PATH}?feed`, { signal: leaving.signal });
    expect([response.headers.get("content-type"), response.headers.get("x-accel-buffering")]).toEqual([
      "text/event-stream; charset=utf-8",
      "no",
    ]);
    const reader = response.body?.getReader();
    const { value } = (await reader?.read()) ?? {};
    expect(new TextDecoder().decode(value)).toMatch(/^event: snapshot\ndata: \{/);
    const statusOf = async () => {
      const next = new AbortController();
      const { status } = await fetch(`${base}${PATH}?feed`, { signal: next.signal });
      next.abort();
      return status;
    };
    expect(await statusOf()).toBe(503);
    leaving.abort();
    await until(async () => (await statusOf()) === 200);
  });

  test("a request that changes something reaches it, with a body that is not read or without", async () => {
    const { base } = await mounted();
    const headers = { "sec-fetch-site": "same-origin", "holdfast-seen": "x".repeat(43) };
    const free = `${base}${PATH}?free=a`;
    const plain = await fetch(free, { method: "POST", headers });
    const json = { ...headers, "content-type": "application/json" };
    const full = await fetch(free, { method: "POST", headers: json, body: '{"a":1}' });
    for (const response of [plain, full]) {
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: "no lock with this key is known" },
      ]);
    }
    const foreign = { ...headers, "sec-fetch-site": "cross-site" };
    expect((await fetch(free, { method: "POST", headers: foreign })).status).toBe(403);
  });

  test("authorize gets the request of the framework, and the program answers all the rest", async () => {
    const { base, natives } = await mounted();
    const other = await fetch(`${base}/a/b`);
    expect([other.status, await other.text(), natives]).toEqual([404, "of the program", []]);
    await fetch(`${base}${PATH}?me`);
    const [native] = natives as [{ headers?: object; req?: object }];
    expect(natives).toHaveLength(1);
    expect(name === "Hono" ? native.req : native.headers).toBeTypeOf("object");
    if (name.startsWith("Express") || name === "Nest") {
      const below = await fetch(`${base}${PATH}/deeper?me`);
      expect([below.status, await below.text(), natives.length]).toEqual([404, "of the program", 1]);
    }
  });
});
