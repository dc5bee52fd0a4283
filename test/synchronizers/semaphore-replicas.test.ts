import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type {
  ChannelListener,
  Driver,
  DriverTraits,
  ReplicaDemand,
  ReplicatedReply,
  Ticket,
  Unsubscribe,
} from "../../src/driver/driver.js";
import { NotReplicatedError } from "../../src/errors.js";
import { Holdfast } from "../../src/holdfast.js";
import { FakeClock, MemoryServer, memoryDriver } from "../../src/memory/index.js";
import type { RawReply, ScriptCall } from "../../src/protocol/script-call.js";
import { watched } from "../support/run/watched.js";

const TIMEOUT_MS = 500;

/** A server with one replica. */
class ReplicatedMemory implements Driver {
  readonly traits: DriverTraits = { server: "replicated", topology: "memory" };
  readonly resets = 0;
  /** Whether the replica is too slow to have anything in time. */
  isSlow = false;
  /** The scripts that were run, for how many replicas, and how long these were waited for. */
  readonly demands: (readonly [script: string, replicas: ReplicaDemand["replicas"], timeoutMs: number])[] =
    [];
  readonly #inner: Driver;

  constructor(server: MemoryServer) {
    this.#inner = memoryDriver(server);
  }

  run(call: ScriptCall, ticket: Ticket): Promise<RawReply> {
    return this.#inner.run(call, ticket);
  }

  async runReplicated(
    call: ScriptCall,
    ticket: Ticket,
    { replicas, timeoutMs }: ReplicaDemand,
  ): Promise<ReplicatedReply> {
    this.demands.push([call.script.name, replicas, timeoutMs]);
    const wanted = replicas === 0 ? 0 : 1;
    const reply = await this.run(call, ticket);
    return { reply, acknowledged: this.isSlow ? 0 : wanted, wanted };
  }

  subscribe(channel: string, listener: ChannelListener): Promise<Unsubscribe> {
    return this.#inner.subscribe(channel, listener);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}

let clock: FakeClock;
let server: MemoryServer;
let driver: ReplicatedMemory;
let holdfast: Holdfast;
beforeEach(() => {
  clock = new FakeClock();
  server = new MemoryServer({ clock });
  driver = new ReplicatedMemory(server);
  holdfast = new Holdfast(driver, { clock, replicas: { mode: "require", timeoutMs: TIMEOUT_MS } });
  server.command("SET", "s", "3");
});
afterEach(async () => {
  await holdfast.close();
  expect(clock.pendingTimers).toBe(0);
});

/** How often each script was run, for how many replicas. */
function scripts(): readonly string[] {
  return driver.demands.splice(0).map(([script, replicas]) => `${script} for ${replicas}`);
}

describe("permits that too few replicas have", () => {
  test("are given back before the call fails, and behind it until the replicas know", async () => {
    driver.isSlow = true;
    const error: unknown = await holdfast
      .getSemaphore("s")
      .acquire(2)
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NotReplicatedError);
    expect(server.command("GET", "s")).toBe("3");
    await clock.advance(400);
    expect(scripts()).toEqual([
      "semaphore-acquire for 1",
      "semaphore-cancel for 0",
      "semaphore-cancel for 1",
    ]);
    driver.isSlow = false;
    await clock.advance(60_000);
    expect(scripts()).toEqual(["semaphore-cancel for 1"]);
  });
});

describe("a change that too few replicas have", () => {
  test("is done, and told to them until they know", async () => {
    driver.isSlow = true;
    await holdfast.getSemaphore("s").release(2);
    await clock.advance(400);
    expect(scripts()).toEqual(["semaphore-add for 1", "semaphore-add for 1"]);
    await clock.advance(200);
    expect(scripts()).toEqual(["semaphore-add for 1"]);
    driver.isSlow = false;
    await clock.advance(60_000);
    expect(scripts()).toEqual(["semaphore-add for 1"]);
    expect(server.command("GET", "s")).toBe("5");
  });

  test("is told to them no more when the client is closed", async () => {
    driver.isSlow = true;
    await holdfast.getSemaphore("s").release();
    await clock.advance(100);
    const closed = watched(holdfast.close({ graceMs: 30_000 }));
    await clock.advance(1_000);
    expect(closed.outcome).toEqual({ value: undefined });
  });

  test("is told to them without a second effect: permits that were told not to be released stay", async () => {
    const semaphore = holdfast.getPermitExpirableSemaphore("leased");
    await semaphore.trySetPermits(1);
    const permits = await semaphore.acquire();
    driver.isSlow = true;
    expect(await semaphore.tryRelease([...permits.ids, "0".repeat(32)])).toBe(false);
    await clock.advance(10_000);
    expect([permits.state, await semaphore.acquiredPermits()]).toEqual(["held", 1]);
    driver.isSlow = false;
    await permits.release();
    await semaphore.delete();
  });

  test("is not tried on where nobody waits for it", async () => {
    driver.isSlow = true;
    await holdfast.getSemaphore("s").drainPermits();
    await clock.advance(60_000);
    expect(scripts()).toEqual(["semaphore-drain for 1"]);
  });
});

test("replicas are waited for during a part of the lease of permits, and of permanent ones as long as the settings say", async () => {
  const semaphore = holdfast.getPermitExpirableSemaphore("leased");
  await semaphore.trySetPermits(5);
  driver.demands.length = 0;
  const leases = [await semaphore.acquire({ leaseMs: 400 }), await semaphore.acquire()];
  expect(driver.demands).toEqual([
    ["permit-acquire", 1, 100],
    ["permit-acquire", 1, TIMEOUT_MS],
  ]);
  for (const lease of leases) await lease.release();
  await semaphore.delete();
});
