import { afterEach, describe, expect, test } from "vitest";
import { watchLeaks } from "../support/run/leaks.js";
import { backends, openedFor } from "../support/servers/backends.js";
import { EXPIRIES, type PermitExpirableSemaphore } from "../support/worlds/permit-time.js";

watchLeaks();
/** More than Redis' Lua can pass to one command, and more than is swept in one. */
const EXPIRED = 20_000;
const ALIVE = 3;
const CHUNK = 1_000;
const HOUR_MS = 3_600_000;

/** A permit that is held for long, and one that is long over: as text, for ids are any 16 bytes. */
const [held, over] = ["a held permit 16", "0123456789abcdef"];
const hex = (id: string) => Buffer.from(id).toString("hex");

interface Counts {
  readonly available: number;
  readonly acquired: number;
  readonly total: number;
}

interface Question {
  readonly name: string;
  ask(of: PermitExpirableSemaphore): Promise<unknown>;
  readonly answer: unknown;
  /** By how much the answer's effect changes what there is. */
  readonly change?: Partial<Counts>;
}

const questions: readonly Question[] = [
  { name: "availablePermits", ask: (of) => of.availablePermits(), answer: EXPIRED },
  { name: "acquiredPermits", ask: (of) => of.acquiredPermits(), answer: ALIVE },
  { name: "getPermits", ask: (of) => of.getPermits(), answer: EXPIRED + ALIVE },
  {
    name: "tryAcquire",
    ask: async (of) => (await of.tryAcquire(2, { leaseMs: HOUR_MS }))?.ids.length,
    answer: 2,
    change: { available: -2, acquired: 2 },
  },
  {
    name: "tryAcquire of as many as one call may take",
    ask: async (of) => (await of.tryAcquire(1_000, { leaseMs: HOUR_MS }))?.ids.length,
    answer: 1_000,
    change: { available: -1_000, acquired: 1_000 },
  },
  {
    name: "tryRelease",
    ask: (of) => of.tryRelease(hex(held)),
    answer: true,
    change: { available: 1, acquired: -1 },
  },
  { name: "tryRelease of an expired one", ask: (of) => of.tryRelease(hex(over)), answer: false },
  { name: "tryRelease of a list", ask: (of) => of.tryRelease([hex(held), hex(over)]), answer: false },
  { name: "updateLeaseTime", ask: (of) => of.updateLeaseTime(hex(held), HOUR_MS), answer: true },
  {
    name: "updateLeaseTime of an expired one",
    ask: (of) => of.updateLeaseTime(hex(over), HOUR_MS),
    answer: false,
  },
  {
    name: "getLeaseTime",
    ask: async (of) => (await of.getLeaseTime(hex(held))) > HOUR_MS / 2,
    answer: true,
  },
  {
    name: "setPermits",
    ask: (of) => of.setPermits(10),
    answer: undefined,
    change: { available: 10 - EXPIRED - ALIVE, total: 10 - EXPIRED - ALIVE },
  },
  {
    name: "addPermits",
    ask: (of) => of.addPermits(5),
    answer: undefined,
    change: { available: 5, total: 5 },
  },
];

describe.each(backends)(`a semaphore with ${EXPIRED} expired permits on $name`, (backend) => {
  const server = openedFor(backend);
  afterEach(() => server().raw("DEL", "a", EXPIRIES));

  async function withExpired(): Promise<PermitExpirableSemaphore> {
    await server().raw("SET", "a", 0);
    for (let from = 0; from < EXPIRED; from += CHUNK) {
      const members = Array.from({ length: CHUNK }, (_, i) => [from + i, `${100_000 + from + i} expired`]);
      if (from === 0) members[0] = [0, over];
      await server().raw("ZADD", EXPIRIES, ...members.flat());
    }
    const laterMs = Date.now() + HOUR_MS;
    await server().raw(
      "ZADD",
      EXPIRIES,
      laterMs,
      held,
      laterMs,
      "another held one",
      "922337203685477",
      "for ever",
    );
    return server().client().getPermitExpirableSemaphore("a");
  }

  test.each(questions)("answers $name, and counts right [wire-A4]", async ({ ask, answer, change = {} }) => {
    const semaphore = await withExpired();
    expect(await ask(semaphore)).toBe(answer);
    const { available = 0, acquired = 0, total = 0 } = change;
    expect({
      available: await semaphore.availablePermits(),
      acquired: await semaphore.acquiredPermits(),
      total: await semaphore.getPermits(),
    }).toEqual({
      available: EXPIRED + available,
      acquired: ALIVE + acquired,
      total: EXPIRED + ALIVE + total,
    });
    // By then all are swept, a part by each command, and none is counted twice.
    expect(await server().raw("ZCARD", EXPIRIES)).toBe(ALIVE + acquired);
    expect(await server().raw("GET", "a")).toBe(String(EXPIRED + available));
  });
});
