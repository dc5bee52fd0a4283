import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { findLeaks, openThings } from "../support/run/leaks.js";

describe("the search for leaks", () => {
  it("finds a timer that keeps nothing alive, and the place where it was made", async () => {
    const before = openThings();
    const timer = setTimeout(() => undefined, 600_000).unref();
    expect(await findLeaks(before, 0)).toEqual([expect.stringMatching(/^a timer made .*leaks\.test\.ts/)]);
    clearTimeout(timer);
    expect(await findLeaks(before)).toEqual([]);
  });

  it("finds an interval", async () => {
    const before = openThings();
    const timer = setInterval(() => undefined, 10);
    expect(await findLeaks(before, 0)).toHaveLength(1);
    clearInterval(timer);
    expect(await findLeaks(before)).toEqual([]);
  });

  it("waits a moment for what is about to end, and passes arguments on", async () => {
    const before = openThings();
    const heard: unknown[] = [];
    setTimeout((...args: unknown[]) => heard.push(...args), 20, "a", "b");
    expect(await findLeaks(before)).toEqual([]);
    expect(heard).toEqual(["a", "b"]);
  });

  it("finds a socket that keeps nothing alive, at both ends", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const before = openThings();
    const accepted = once(server, "connection");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1").unref();
    await accepted;
    expect(await findLeaks(before, 0)).toHaveLength(2);
    socket.destroy();
    expect(await findLeaks(before)).toEqual([]);
    server.close();
  });
});
