import type { ClientPresence, ClientRef, ListedHolder } from "holdfast";
import { UnavailableError } from "holdfast";
import type { LockChange } from "holdfast/watch";
import { describe, expect, test } from "vitest";
import { patientFinder } from "../src/find/patient-finder.js";
import { Output } from "../src/output.js";
import { ChangeLines } from "../src/watch/tell-change.js";

const ID = "319b0b1c-0000-8001-8000-000000000001";
const api: ClientRef = {
  id: ID,
  app: "api",
  host: "web-7",
  pid: 7,
  state: "there",
  lastSeenMs: 0,
  labels: {},
};
const holder = (client: ClientRef | null, sinceMs: number | null = null): ListedHolder => ({
  holder: client === null ? "4e7e0b1c-0000-4000-8000-000000000000:57" : `${client.id}:1`,
  count: 1,
  by: client === null ? "jvm" : "holdfast",
  client,
  sinceMs,
  renewed: null,
  note: null,
});
const stream = { write: () => true };
const output = new Output({ out: stream, err: stream, env: {} });
const fleet = {
  atMs: 0,
  group: "default",
  clients: [{ ...api } as unknown as ClientPresence],
  truncated: false,
};
const scene = { atMs: new Date(2026, 10, 23, 3, 4, 5).getTime(), fleet, locks: [] };
const change = (more: Partial<LockChange>): LockChange => ({
  type: "taken",
  key: "a",
  name: "a",
  holders: [],
  before: [],
  waiting: 0,
  ...more,
});

describe("a line of watch", () => {
  test.each<[Partial<LockChange>, string]>([
    [{ type: "taken", holders: [holder(api)] }, "taken        a  by api@web-7 pid 7"],
    [{ type: "freed", before: [holder(api, 41_000)] }, "freed        a  by api@web-7 pid 7, held for 41 s"],
    [
      {
        type: "handed-over",
        holders: [holder(null)],
        before: [holder(api, 1_000), holder(null)],
        waiting: 2,
      },
      "handed over  a  to JVM 4e7e…:57, from api@web-7 pid 7 and 1 more, held for 1 s; 2 wait",
    ],
    [{ type: "queue", waiting: 1 }, "queue        a  1 waits"],
    [{ type: "queue" }, "queue        a  no call waits any more"],
    [{ type: "lost", client: ID, reason: "expired" }, "lost         a  by api@web-7 pid 7: expired"],
    [
      { type: "stale", holders: [holder({ ...api, state: "gone", lastSeenMs: 40_000 })] },
      "stale        a  api@web-7 pid 7 (gone 40 s); nothing renews it, and it ends in 0 ms",
    ],
  ])("%j", (more, line) => {
    expect(new ChangeLines(output).of(change(more), scene)).toBe(`03:04:05  ${line}`);
  });

  test("shows nothing that hides in what a client tells of itself", () => {
    const hostile = holder({ ...api, app: "x\u001b[2J" });
    const line = new ChangeLines(output).of(change({ holders: [hostile] }), scene);
    expect(line).toContain("by x\\u{1b}[2J@web-7 pid 7");
  });

  test("has its parts below those of the lines before, and shows nothing that hides", () => {
    const lines = new ChangeLines(output);
    const of = (name: string) => lines.of(change({ type: "queue", name, waiting: 3 }), scene).slice(10);
    expect([of("東京"), of("a"), of("x\u001b[2J"), of("n".repeat(50)), of("a")]).toEqual([
      "queue        東京  3 wait",
      "queue        a     3 wait",
      "queue        x\\u{1b}[2J  3 wait",
      `queue        ${"n".repeat(16)}…${"n".repeat(15)}  3 wait`,
      `queue        a${" ".repeat(31)}  3 wait`,
    ]);
  });
});

describe("looks while Redis does not answer", () => {
  test("are tried again, and told once", async () => {
    const told: string[] = [];
    let tries = 0;
    const finder = patientFinder(
      {
        async fleet() {
          tries += 1;
          if (tries < 2) throw new UnavailableError("127.0.0.1:1", "gone", false);
          return fleet;
        },
        locks: () => [] as never,
      },
      { began: (why) => void told.push(why), ended: () => void told.push("ended") },
      new AbortController().signal,
    );
    expect(await finder.fleet()).toBe(fleet);
    expect(told).toEqual(["127.0.0.1:1: gone", "ended"]);
  });

  test("end where the right is missing, and where they are interrupted", async () => {
    const failing = (why: string, controller: AbortController) =>
      patientFinder(
        { fleet: () => Promise.reject(new UnavailableError("s", why, false)), locks: () => [] as never },
        { began: () => controller.abort(), ended: () => undefined },
        controller.signal,
      ).fleet();
    await expect(failing("NOPERM no", new AbortController())).rejects.toThrow("NOPERM");
    await expect(failing("gone", new AbortController())).rejects.toThrow("aborted");
  });
});
