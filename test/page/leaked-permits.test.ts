import { afterEach, expect, it } from "vitest";
import { chromiumPages, whenLive } from "../support/page/chromium.js";
import { until } from "../support/run/until.js";
import { locksOnRedis } from "../support/servers/locks-on-redis.js";
import type { Child } from "../support/worlds/child.js";
import { childPrograms } from "../support/worlds/child-programs.js";

const redis = locksOnRedis();
// Hooks run from the last to the first: the programs are stopped before, and tell no more of themselves.
afterEach(() => redis.plain.flushdb());
const start = childPrograms();
const open = chromiumPages();
const NAME = "partner-api";
const HOUR_MS = 3_600_000;

function program(app: string): Promise<Child> {
  const presence = { app, host: false, everyMs: 1_000 } as const;
  return start("permit-holder", { port: redis.server.port, semaphore: NAME, presence });
}

async function acquire(child: Child, options: object): Promise<readonly string[]> {
  return (await child.ask("acquire", options))["ids"] as readonly string[];
}

it("an operator gives back what a process has leaked, and nothing of the living [I8]", {
  timeout: 180_000,
}, async () => {
  const tool = redis.holdfast();
  await tool.getPermitExpirableSemaphore(NAME).trySetPermits(5);
  const [dead, living, server] = await Promise.all([
    program("jobs"),
    program("api"),
    start("inspector-server", { at: { topology: "standalone", port: redis.server.port } }),
  ]);
  const leaked = [...(await acquire(dead, { permits: 2 })), ...(await acquire(dead, { leaseMs: HOUR_MS }))];
  const kept = await acquire(living, {});
  const clients = async () => (await tool.fleet()).clients;
  await until(async () => (await clients()).filter(({ holds }) => holds.length > 0).length === 2);
  await dead.stop();
  await until(async () => (await clients()).some(({ app, state }) => app === "jobs" && state === "gone"));

  const { port } = await server.next("serving");
  const page = await whenLive(await open(`http://127.0.0.1:${port}/`));
  await page.keyboard.press("/");
  await page.keyboard.type("partner");
  const row = page.locator("tbody tr", { hasText: NAME });
  await row.getByText("leaked", { exact: true }).waitFor();
  expect(await row.textContent()).toContain("4 of 5 taken · jobs");
  await row.click();
  const panel = page.getByRole("region", { name: `Lock ${NAME}` });
  await panel.getByText("4 of 5 taken, 3 never return by themselves").waitFor();
  const card = (text: string | RegExp) => panel.locator(".cards > li", { hasText: text });
  for (const id of leaked) await card(id).getByText("gone for", { exact: false }).waitFor();
  expect(await card(kept[0] ?? "").textContent()).toMatch(/^api.*never returns by itself/);
  expect(await card(leaked[2] ?? "").textContent()).toMatch(/fixed lease.*59 min/);
  const id = (await clients()).find(({ app }) => app === "jobs")?.id ?? "";
  expect(await panel.locator(".line code").textContent()).toMatch(
    new RegExp(`^holdfast release (?:--client ${id} )+-- ${NAME}$`),
  );

  for (const [left, count] of [
    [1, "2 permits"],
    [0, "1 permit"],
  ] as const) {
    await card("gone for").first().getByRole("button", { name: "Give back…" }).click();
    const dialog = page.getByRole("dialog", { name: `Give back ${count} of ${NAME}?` });
    expect(await dialog.textContent()).toContain("Its client is gone");
    await dialog.getByRole("textbox").first().fill(NAME);
    await dialog.getByRole("textbox").last().fill("jobs was killed");
    await dialog.getByRole("button", { name: "Give back" }).click();
    await dialog.getByText("Given back.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
    await expect.poll(() => card("gone for").count(), { timeout: 20_000 }).toBe(left);
  }
  await panel.getByText("1 of 5 taken, 1 never returns by itself").waitFor();
  expect(await tool.inspect(NAME)).toMatchObject({ available: 4, taken: kept.map((one) => ({ id: one })) });
  expect(await living.ask("state")).toMatchObject({ state: "held" });
  await page.getByRole("link", { name: "Events" }).click();
  await page.getByText(/^ada gave back 2 permits: jobs was killed\. Held by jobs/).waitFor();
});
