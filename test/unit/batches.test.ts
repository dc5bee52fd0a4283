import { describe, expect, test } from "vitest";
import { DriverClosedError, ServerReplyError } from "../../src/driver/driver.js";
import { UnavailableError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import { batches, inParts } from "../../src/runtime/batches.js";
import { AcknowledgingDriver, ofTopology } from "../support/drivers/acknowledging-driver.js";
import { watchLeaks } from "../support/run/leaks.js";

watchLeaks();

function refused(message: string): UnavailableError {
  return new UnavailableError("a:1", message, false, { cause: new ServerReplyError(message) });
}

describe("what is about many keys", () => {
  /** Keys of one letter have one slot. */
  const commands = { slotOf: (key: string) => key.charCodeAt(0) };
  const divided = (keys: readonly string[], size: number) =>
    batches(
      commands,
      keys.map((key) => ({ key })),
      size,
    ).map((batch) => batch.map(({ key }) => key).join(" "));

  test("is divided by slots, and then into parts of a size at most, in its order", () => {
    expect(divided([], 2)).toEqual([]);
    expect(divided(["a1", "b1", "a2", "a3", "b2", "a4", "a5"], 2)).toEqual(["a1 a2", "a3 a4", "a5", "b1 b2"]);
  });
});

describe("a batch", () => {
  /** What is sent, one text for each time, where whatever names a bad one is answered with an error. */
  async function sent(items: readonly string[], errorOf: (part: readonly string[]) => Error | undefined) {
    const parts: string[] = [];
    const outcome = await inParts(items, async (part, divisible) => {
      parts.push(`${part.join(" ")}${divisible ? " (divisible)" : ""}`);
      const error = errorOf(part);
      if (error !== undefined) throw error;
    }).catch((error: unknown) => error);
    return { parts, outcome };
  }
  const badOne = (error: Error) => (part: readonly string[]) => (part.includes("bad") ? error : undefined);

  test("is sent once where nobody refuses it", async () => {
    const { parts, outcome } = await sent(["a", "b"], () => undefined);
    expect([parts, outcome]).toEqual([["a b (divisible)"], undefined]);
  });

  test("that was refused is sent one by one: a bad one does not harm the others", async () => {
    const { parts, outcome } = await sent(["a", "bad", "c"], badOne(refused("WRONGTYPE no")));
    expect([parts, outcome]).toEqual([["a bad c (divisible)", "a", "bad", "c"], undefined]);
  });

  test("of one is not divided", async () => {
    const error = refused("TRYAGAIN later");
    expect(await sent(["bad"], badOne(error))).toEqual({ parts: ["bad"], outcome: error });
  });

  test.each([
    new UnavailableError("a:1", "lock-renew was not answered within 3000 ms", true),
    new UnavailableError("a:1", "closed", false, { cause: new DriverClosedError() }),
    new TypeError("a bug"),
  ])("that failed otherwise is not sent again: %s", async (error) => {
    const { parts, outcome } = await sent(["a", "bad"], badOne(error));
    expect([parts, outcome]).toEqual([["a bad (divisible)"], error]);
  });
});

describe("while a slot moves, of which one key is there already and another is not", () => {
  const names = ["{order}:7", "{order}:8"];

  /** The server refuses what is about both while their slot moves. */
  function open() {
    const clock = new FakeClock();
    const server = new MemoryServer({ clock });
    const driver = new AcknowledgingDriver(ofTopology(memoryDriver(server), "cluster"));
    const state = { moves: false, refusals: 0 };
    const run = driver.run.bind(driver);
    driver.run = async (call, ticket) => {
      const areTorn = names.every((name) => call.keys.some((key) => key.includes(name)));
      if (state.moves && areTorn) {
        state.refusals += 1;
        throw new ServerReplyError("TRYAGAIN Multiple keys request");
      }
      return run(call, ticket);
    };
    return { clock, server, state, connect: () => new Holdfast(driver, { clock }) };
  }

  test("a client that closes frees all its locks, at once", async () => {
    const { server, state, connect } = open();
    const holdfast = connect();
    for (const name of names) await holdfast.getLock(name).lock({ leaseMs: 3_600_000 });
    state.moves = true;
    const closed = holdfast.close({ releaseHeld: true });
    // No time passes here.
    await closed;
    expect(server.dump()).toEqual({});
  });

  test("those who wait for fair locks keep their places", async () => {
    const { clock, state, connect } = open();
    const [holder, early, late] = [connect(), connect(), connect()];
    const [first = ""] = names;
    const leases = await Promise.all(names.map((name) => holder.getFairLock(name).lock()));
    const order: string[] = [];
    const visit = (client: Holdfast, name: string, as: string) =>
      client.getFairLock(name).using(() => void order.push(as));
    const visits = names.map((name) => visit(early, name, "early"));
    await clock.advance(500);
    state.moves = true;
    visits.push(visit(late, first, "late"));
    await clock.advance(20_000);
    await leases[0]?.unlock();
    await clock.advance(3_000);
    expect(order).toEqual(["early", "late"]);
    // About once in each period of 1.5 s.
    expect(state.refusals).toBeLessThan(25);
    state.moves = false;
    await leases[1]?.unlock();
    await clock.advance(3_000);
    await Promise.all(visits);
    const closed = Promise.all([holder, early, late].map((client) => client.close()));
    await clock.advance(10_000);
    await closed;
    expect(clock.pendingTimers).toBe(0);
  });
});
