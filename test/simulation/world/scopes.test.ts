import { AsyncLocalStorage } from "node:async_hooks";
import { expect, it } from "vitest";
import { disableScopes } from "./scopes.js";

it("leaves no scope of a run to the next one, and lets storages be used again", async () => {
  const storage = new AsyncLocalStorage<number>();
  const read = () => storage.getStore();
  await storage.run(7, async () => {
    expect(read()).toBe(7);
    await Promise.resolve();
    disableScopes();
    expect(read()).toBeUndefined();
  });
  expect(storage.run(8, read)).toBe(8);
});
