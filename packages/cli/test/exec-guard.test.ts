import { LeaseLostError, type LossReason } from "holdfast";
import { FakeClock } from "holdfast/memory";
import { describe, expect, it } from "vitest";
import { type Cap, Guard, type GuardNews } from "../src/exec/guard.js";

const KILL_AFTER_MS = 10_000;
const LAST_MS = 1_500;
const TRUSTED_MS = 29_000;

/** A lease that is trusted until a moment that a renewal puts off. */
class FakeLease {
  readonly #clock: FakeClock;
  readonly #abort = new AbortController();
  #untilMs: number;

  constructor(clock: FakeClock) {
    this.#clock = clock;
    this.#untilMs = clock.monotonicMs() + TRUSTED_MS;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  remainingMs(): number {
    return this.#abort.signal.aborted ? 0 : Math.max(0, this.#untilMs - this.#clock.monotonicMs());
  }

  renew(): void {
    this.#untilMs = this.#clock.monotonicMs() + TRUSTED_MS;
  }

  lose(reason: LossReason): void {
    this.#abort.abort(new LeaseLostError("a", "c:1", reason, 1));
  }
}

/** Processes that take signals as they like. */
class FakeGroup {
  readonly sent: [atMs: number, signal: string][] = [];
  pids: number[] = [10, 11];
  readonly #clock: FakeClock;
  readonly #startMs: number;
  readonly #ends: (signal: NodeJS.Signals) => void;

  constructor(clock: FakeClock, ends: (group: FakeGroup, signal: NodeJS.Signals) => void) {
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#ends = (signal) => ends(this, signal);
  }

  send(signal: NodeJS.Signals): void {
    this.sent.push([this.#clock.monotonicMs() - this.#startMs, signal]);
    this.#ends(signal);
  }

  living(): readonly number[] {
    return this.pids;
  }
}

function scene({
  obeys = "SIGKILL",
  cap,
}: {
  readonly obeys?: NodeJS.Signals | "nothing";
  /** In how many milliseconds its end was wanted. */
  readonly cap?: { readonly reason: Cap["reason"]; readonly inMs: number };
} = {}) {
  const clock = new FakeClock();
  const lease = new FakeLease(clock);
  const told: string[] = [];
  const news: GuardNews = {
    stopping: ({ reason }, killInMs) => void told.push(`stopping ${reason} ${killInMs}`),
    killing: (loss) => void told.push(`killing ${loss?.reason}`),
    lingering: (pids) => void told.push(`lingering ${pids}`),
    surviving: (pids) => void told.push(`surviving ${pids}`),
  };
  const group = new FakeGroup(clock, (own, signal) => {
    if (signal !== obeys || own.pids.length === 0) return;
    own.pids = [];
    queueMicrotask(() => guard.commandEnded());
  });
  const guard = new Guard({
    lease,
    guarded: group,
    terms: { killAfterMs: KILL_AFTER_MS, lastMs: LAST_MS },
    clock,
    news,
    cap: cap && { reason: cap.reason, endsAtMs: clock.monotonicMs() + cap.inMs },
  });
  let over: unknown = "not yet";
  void guard.over.then((loss) => {
    over = loss ?? "held";
  });
  return { clock, lease, group, guard, told, over: () => over };
}

describe("a lease that is not renewed", () => {
  it("has SIGTERM sent killAfterMs before SIGKILL, and SIGKILL lastMs before the trust ends", async () => {
    const { clock, group, guard, told, over } = scene();
    await clock.advance(TRUSTED_MS - KILL_AFTER_MS - LAST_MS - 1);
    expect(group.sent).toEqual([]);
    expect(guard.state).toBe("running");
    await clock.advance(1);
    expect(group.sent).toEqual([[17_500, "SIGTERM"]]);
    expect(guard.state).toBe("stopping");
    await clock.advance(KILL_AFTER_MS - 1);
    expect(group.sent).toHaveLength(1);
    await clock.advance(1);
    expect(group.sent).toEqual([
      [17_500, "SIGTERM"],
      [27_500, "SIGKILL"],
    ]);
    expect(told).toEqual(["stopping unconfirmed 10000", "killing unconfirmed"]);
    expect(over()).toEqual({ reason: "unconfirmed" });
    expect(guard.state).toBe("gone");
    expect(clock.pendingTimers).toBe(0);
  });

  it("is lost from SIGTERM on, whatever a late renewal says", async () => {
    const { clock, lease, group, over } = scene();
    await clock.advance(17_500);
    lease.renew();
    await clock.advance(KILL_AFTER_MS);
    expect(group.sent).toEqual([
      [17_500, "SIGTERM"],
      [27_500, "SIGKILL"],
    ]);
    expect(over()).toEqual({ reason: "unconfirmed" });
  });

  it("is over when the command obeys SIGTERM", async () => {
    const { clock, group, over } = scene({ obeys: "SIGTERM" });
    await clock.advance(17_500);
    expect(group.sent).toEqual([[17_500, "SIGTERM"]]);
    expect(over()).toEqual({ reason: "unconfirmed" });
  });

  it("kills at once what wakes from a standstill after the trust has ended", async () => {
    const { clock, group, told } = scene();
    clock.block(TRUSTED_MS + 5);
    await clock.advance(0);
    expect(group.sent).toEqual([[TRUSTED_MS + 5, "SIGKILL"]]);
    expect(told).toEqual(["killing expired"]);
  });

  it("shortens the time between the signals for what wakes within its last moments", async () => {
    const { clock, group } = scene();
    clock.block(TRUSTED_MS - LAST_MS - 400);
    await clock.advance(0);
    await clock.advance(400);
    expect(group.sent).toEqual([
      [27_100, "SIGTERM"],
      [27_500, "SIGKILL"],
    ]);
  });

  it.each(["lease-ends", "max-hold-ends"] as const)("says so where that was wanted: %s", async (reason) => {
    const { clock, told } = scene({ cap: { reason, inMs: TRUSTED_MS + 500 } });
    await clock.advance(17_500);
    expect(told).toEqual([`stopping ${reason} 10000`]);
  });

  it("and is not at the end that was wanted, is told as such", async () => {
    const { clock, told } = scene({ cap: { reason: "max-hold-ends", inMs: 60_000 } });
    await clock.advance(17_500);
    expect(told).toEqual(["stopping unconfirmed 10000"]);
  });

  it("and whose command was found to have ended after it, is lost", async () => {
    const { clock, group, guard, over } = scene();
    clock.block(TRUSTED_MS + 5);
    group.pids = [];
    guard.commandEnded();
    await clock.advance(0);
    expect(group.sent).toEqual([]);
    expect(over()).toEqual({ reason: "expired" });
  });
});

describe("a lease that is renewed", () => {
  it("lets the command run for as long as it takes", async () => {
    const { clock, lease, group, guard, over } = scene();
    for (let beats = 0; beats < 100; beats += 1) {
      await clock.advance(10_000);
      lease.renew();
    }
    group.pids = [];
    guard.commandEnded();
    await clock.advance(0);
    expect(group.sent).toEqual([]);
    expect(over()).toBe("held");
  });

  it.each(["stolen", "server-changed"] as const)(
    "and was taken away (%s): SIGTERM at once, SIGKILL after killAfterMs",
    async (reason) => {
      const { clock, lease, group, told } = scene();
      await clock.advance(3_000);
      lease.lose(reason);
      await clock.advance(KILL_AFTER_MS);
      expect(group.sent).toEqual([
        [3_000, "SIGTERM"],
        [13_000, "SIGKILL"],
      ]);
      expect(told).toEqual([`stopping ${reason} 10000`, `killing ${reason}`]);
    },
  );

  it("is kept while members of the group run on, and has them stopped when it is lost", async () => {
    const { clock, lease, group, guard, told, over } = scene();
    group.pids = [11];
    guard.commandEnded();
    expect(guard.state).toBe("lingering");
    await clock.advance(8_000);
    lease.renew();
    await clock.advance(8_000);
    expect(over()).toBe("not yet");
    expect(told).toEqual(["lingering 11"]);
    await clock.advance(TRUSTED_MS);
    expect(group.sent.map(([, signal]) => signal)).toEqual(["SIGTERM", "SIGKILL"]);
    expect(over()).toEqual({ reason: "unconfirmed" });
  });

  it("is released within a second of the end of the last member", async () => {
    const { clock, group, guard, over } = scene();
    group.pids = [11];
    guard.commandEnded();
    await clock.advance(5_000);
    group.pids = [];
    await clock.advance(1_000);
    expect(over()).toBe("held");
  });
});

describe("a command that is to end", () => {
  it("gets SIGKILL killAfterMs after the second signal, and the lock was held", async () => {
    const { clock, group, guard, told, over } = scene();
    expect(guard.killLater()).toBe(KILL_AFTER_MS);
    await clock.advance(4_000);
    expect(guard.killLater()).toBe(6_000);
    await clock.advance(6_000);
    expect(group.sent).toEqual([[KILL_AFTER_MS, "SIGKILL"]]);
    expect(told).toEqual(["killing undefined"]);
    expect(over()).toBe("held");
  });

  it("is killed again and again, and told, when SIGKILL does not end it", async () => {
    const { clock, group, guard, told, over } = scene({ obeys: "nothing" });
    guard.kill();
    await clock.advance(10_000);
    expect(group.sent.length).toBeGreaterThan(5);
    expect(group.sent.every(([, signal]) => signal === "SIGKILL")).toBe(true);
    expect(told).toEqual(["killing undefined", "surviving 10,11"]);
    expect(over()).toBe("not yet");
    group.pids = [];
    guard.commandEnded();
    await clock.advance(0);
    expect(over()).toBe("held");
  });
});
