import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { describe, expect, test } from "vitest";
import { type Answer, feed, type Sink } from "../../src/inspector/answer.js";
import { Audience } from "../../src/inspector/audience.js";
import type { Desk } from "../../src/inspector/desk.js";
import { answerFetch, answerNode } from "../../src/inspector/doors.js";
import { inspectorSettings } from "../../src/inspector/inspector-options.js";
import { Picture } from "../../src/inspector/picture.js";
import { until } from "../support/run/until.js";
import { fakeTime } from "../support/worlds/fake-time.js";

const open = fakeTime();
const MIB = 1_048_576;
const ALL = { match: null, sort: "waiting", only: [] } as const;

/** A reader that has taken nothing of what was written, but for what a test says. */
class FakeSink implements Sink {
  unread = 0;
  isCut = false;
  written = 0;

  write(): void {
    if (this.isCut) throw new Error("written to after its end");
    this.written += 1;
  }

  end(): void {
    throw new Error("a slow reader would never come to this end");
  }

  cut(): void {
    this.isCut = true;
  }
}

describe("a viewer who reads too slowly", () => {
  test("is cut off once four mebibytes are unread; the others see on", async () => {
    const { holdfast, driver, clock } = open();
    const settings = inspectorSettings({ authorize: () => ({ role: "read" }), clock });
    const audience = new Audience(holdfast, settings, new Picture(clock, 60));
    const [slow, quick] = [new FakeSink(), new FakeSink()];
    const viewer = { wanted: ALL, actor: null, mayStay: () => Promise.resolve(true) };
    const leave = [slow, quick].map((sink) => audience.join(viewer, sink));
    await clock.advance(10_000);
    slow.unread = 4 * MIB;
    await clock.advance(10_000);
    expect([slow.isCut, quick.isCut]).toEqual([false, false]);
    slow.unread += 1;
    const [ofSlow, ofQuick] = [slow.written, quick.written];
    await clock.advance(10_000);
    expect([slow.isCut, slow.written, quick.isCut]).toEqual([true, ofSlow + 1, false]);
    expect(quick.written).toBeGreaterThan(ofQuick + 3);
    // Its connection says afterwards that it is closed.
    leave[0]?.();
    quick.unread = 5 * MIB;
    await clock.advance(10_000);
    const sent = driver.names.length;
    await clock.advance(60_000);
    expect([quick.isCut, driver.names.length, clock.pendingTimers]).toEqual([true, sent, 0]);
  });

  test("is seen by fetch to be slow, and its stream fails when it is cut off", async () => {
    const { desk, sinks, left } = fakeDesk();
    const response = await answerFetch(desk, new Request("http://localhost/?feed"), undefined);
    const [sink] = sinks;
    for (let nth = 0; nth < 5; nth += 1) sink?.write("x".repeat(MIB));
    expect(sink?.unread).toBe(5 * MIB);
    const reader = response.body?.getReader();
    await reader?.read();
    expect(sink?.unread).toBe(4 * MIB);
    sink?.cut();
    await expect(reader?.read()).rejects.toThrow("the feed has ended");
    expect(left()).toBe(0);
  });

  test("is seen by node to be slow, and its connection is destroyed when it is cut off", async () => {
    const { desk, sinks, left } = fakeDesk();
    const server = createServer((request, response) => void answerNode(desk, request, response));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.write("GET /?feed HTTP/1.1\r\nhost: localhost\r\n\r\n");
    socket.pause();
    await until(() => sinks.length === 1);
    const [sink] = sinks;
    for (let nth = 0; nth < 40; nth += 1) sink?.write("x".repeat(MIB));
    expect(sink?.unread).toBeGreaterThan(4 * MIB);
    socket.resume();
    const ended = once(socket, "close");
    sink?.cut();
    await ended;
    await until(() => left() === 1);
    server.close();
    expect(left()).toBe(1);
  });
});

test("a viewer of fetch who leaves is told to the feed, by the stream or by the request", async () => {
  for (const way of ["stream", "request"] as const) {
    const { desk, left } = fakeDesk();
    const leaving = new AbortController();
    const request = new Request("http://localhost/?feed", { signal: leaving.signal });
    const response = await answerFetch(desk, request, undefined);
    expect(left()).toBe(0);
    if (way === "stream") await response.body?.cancel();
    else leaving.abort();
    expect(left()).toBe(1);
  }
});

/** Answers each request by a feed. */
function fakeDesk(): { desk: Desk; sinks: Sink[]; left: () => number } {
  const sinks: Sink[] = [];
  let left = 0;
  const ask = (): Promise<Answer> =>
    Promise.resolve(
      feed((sink) => {
        sinks.push(sink);
        return () => {
          left += 1;
        };
      }),
    );
  return { desk: { ask } as unknown as Desk, sinks, left: () => left };
}
