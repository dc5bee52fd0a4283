import { newClientId } from "./client-id.js";
import { type ClientSettings, clientSettings, type HoldfastOptions } from "./client-options.js";
import { type Clock, systemClock } from "./clock.js";
import type { Driver } from "./driver/driver.js";
import { ClientClosedError } from "./errors.js";
import type { AboutClient } from "./events.js";
import { Ring } from "./linked.js";
import { lockRenew } from "./protocol/lock-scripts.js";
import { KEPT_ENDING } from "./protocol/names.js";
import { readRenew } from "./protocol/read-write-scripts.js";
import { permitRenew } from "./protocol/semaphore-scripts.js";
import { clockInRootContext, inRootContext } from "./root-context.js";
import { Admission } from "./runtime/admission.js";
import { Commands } from "./runtime/commands.js";
import { Confirmations } from "./runtime/confirmations.js";
import { ExpiryAlarms } from "./runtime/expiry-alarms.js";
import { FairQueues } from "./runtime/fair-queues.js";
import { type CallSubject, forCaller } from "./runtime/for-caller.js";
import { Groups } from "./runtime/groups.js";
import { HashedWheelTimer } from "./runtime/hashed-wheel-timer.js";
import { Requests } from "./runtime/requests.js";
import { Subscriptions } from "./runtime/subscriptions.js";
import type { Tally } from "./runtime/tally.js";
import { WaitLines } from "./runtime/wait-lines.js";
import { Waiter, type WaitsFor } from "./runtime/waiter.js";
import { type Renewable, Watchdog } from "./runtime/watchdog.js";
import { Watchdogs } from "./runtime/watchdogs.js";
import { within } from "./runtime/within.js";
import type { TellLoss } from "./threads/held.js";
import { whenListened } from "./threads/loss-listeners.js";
import { PermitHolds } from "./threads/permit-holds.js";
import { SelfWaits } from "./threads/self-waits.js";
import { makeTerms, type Terms } from "./threads/terms.js";
import { Threads } from "./threads/threads.js";

/** The longest tick of the timer wheel, and the least number of ticks in a watchdog's lease. */
const COARSEST_TICK_MS = 100;
const TICKS_PER_WATCHDOG_LEASE = 30;

/** What all locks of one `Holdfast` share: its identity, its settings, its timers and its wake-ups. */
export class Client {
  readonly id: string = newClientId();
  /** The client as events name it. */
  readonly about: AboutClient;
  readonly settings: ClientSettings;
  /** The terms of a lock call whose options set no terms. */
  readonly usualTerms: Terms;
  readonly clock: Clock;
  readonly commands: Commands;
  readonly admission: Admission;
  readonly groups: Groups;
  /** Whether `PUBSUB NUMSUB` counts all subscribers of a channel: in a cluster, and after a failover, some may be at another server. */
  readonly knowsListeners: boolean;
  readonly lines: WaitLines;
  readonly subscriptions: Subscriptions;
  readonly fairQueues: FairQueues;
  readonly threads: Threads;
  readonly selfWaits: SelfWaits;
  readonly permits: PermitHolds;
  readonly requests: Requests;
  /** How many locks and permits were acquired. */
  acquired = 0;
  /** The calls as presence reports them; undefined if presence is off. */
  tally: Tally | undefined;
  /** For each running body with permits of a plain semaphore, the function that gives the permits back. */
  readonly inUse: Set<() => Promise<void>> = new Set();
  readonly #driver: Driver;
  readonly #wheel: HashedWheelTimer;
  readonly #watchdogs: Watchdogs;
  readonly #sharedWatchdogs: Watchdogs;
  readonly #permitWatchdog: Watchdog;
  readonly #confirmations: Confirmations | undefined;
  readonly #waiters = new Ring<Waiter>();
  /** Waiters of calls that take locks of several clients; true if a running body of this client made the call. */
  readonly #admitted = new Map<Waiter, boolean>();
  readonly #background = new Set<Promise<unknown>>();
  readonly #unlisten: () => void;
  /** Which calls are accepted: all, only those of running bodies, or none. */
  #open: "to all" | "to bodies" | "to nobody" = "to all";
  #closing: AbortController | undefined;
  #stopped = false;

  constructor(driver: Driver, options: HoldfastOptions) {
    this.settings = clientSettings(options);
    this.about = { clientId: this.id, server: driver.traits.server };
    const { watchdogMs, fleetWatchdogMs, safetyPeriodMs, clockSkewMs } = this.settings;
    this.usualTerms = makeTerms({ leaseMs: watchdogMs, renewed: true, maxHoldMs: undefined, clockSkewMs });
    this.#driver = driver;
    this.clock = clockInRootContext(options.clock ?? systemClock);
    const tickMs = Math.min(COARSEST_TICK_MS, Math.floor(watchdogMs / TICKS_PER_WATCHDOG_LEASE));
    this.#wheel = new HashedWheelTimer(this.clock, tickMs);
    this.commands = new Commands(driver, this.clock, this.settings, this.about);
    this.admission = new Admission({ driver, clock: this.clock, commands: this.commands });
    this.groups = new Groups(this.commands, this.settings);
    this.requests = new Requests({ clientId: this.id, clock: this.clock, commands: this.commands });
    this.subscriptions = new Subscriptions({
      driver,
      commands: this.commands,
      wheel: this.#wheel,
    });
    const { topology } = driver.traits;
    this.knowsListeners = topology === "standalone" || topology === "memory";
    const lineServices = { clock: this.clock, subscriptions: this.subscriptions, safetyPeriodMs };
    this.lines = new WaitLines(this.id, lineServices, this.knowsListeners);
    const renewing = (script: typeof lockRenew, leaseMs: number, held: () => Iterable<Renewable>) =>
      new Watchdog(this.commands, this.clock, this.#wheel, script, leaseMs, held);
    this.#watchdogs = new Watchdogs(watchdogMs, Number.POSITIVE_INFINITY, (leaseMs) =>
      renewing(lockRenew, leaseMs, () => this.threads.ofLocks({ shared: false })),
    );
    this.fairQueues = new FairQueues({
      clientId: this.id,
      commands: this.commands,
      subscriptions: this.subscriptions,
      wheel: this.#wheel,
    });
    this.#sharedWatchdogs = new Watchdogs(watchdogMs, fleetWatchdogMs, (leaseMs) =>
      renewing(readRenew, leaseMs, () => this.threads.ofLocks({ shared: true })),
    );
    this.#permitWatchdog = renewing(permitRenew, watchdogMs, () => this.permits.all());
    const alarms = new ExpiryAlarms(this.clock, this.#wheel);
    this.#confirmations = this.#confirm();
    const { clock } = this;
    const tellLoss: TellLoss = (of, reason) => this.tally?.lost(of, reason);
    const shared = { clock, alarms, confirmations: this.#confirmations, tellLoss };
    this.permits = new PermitHolds({ ...shared, watchdog: this.#permitWatchdog });
    const custody = { ...shared, watchdogs: this.#watchdogs };
    this.threads = new Threads(this.id, custody, this.#sharedWatchdogs);
    this.selfWaits = new SelfWaits({
      threads: this.threads,
      waiting: () => [...this.waiting()],
      after: (delayMs, work) => this.after(delayMs, work),
    });
    this.#unlisten = whenListened(this);
  }

  /** Called when `holdfast:lease:lost` gets a subscriber: sets the alarms of the leases that exist by then. */
  tellEnds(): void {
    for (const stay of [...this.threads.stays()]) for (const hold of [...stay.live]) hold.tellEnd();
    for (const hold of this.permits.all()) hold.tellEnd();
  }

  /** Whether the keys are divided among several servers. */
  get inCluster(): boolean {
    return this.commands.inCluster;
  }

  /** Whether each server that has keys can be asked: the driver reaches all masters, or there is only one server. */
  get reachesEverywhere(): boolean {
    return !this.inCluster || this.#driver.everywhere !== undefined;
  }

  /** True once all services have ended: work that is still going on in the background must give up. */
  get stopped(): boolean {
    return this.#stopped;
  }

  get isClosing(): boolean {
    return this.#open === "to nobody";
  }

  /** Aborts when the client begins to close. Made for the first caller that asks. */
  get closing(): AbortSignal {
    this.#closing ??= new AbortController();
    if (this.#open !== "to all") this.#closing.abort(new ClientClosedError());
    return this.#closing.signal;
  }

  /** True for a holder field of this client. */
  owns(holder: string): boolean {
    return holder.startsWith(`${this.id}:`);
  }

  /**
   * Like {@link owns}, but false for a lock that is kept after its release (`keepForMs`): a call that waits for such a lock can not be
   * waiting for itself.
   */
  holdsAs(holder: string): boolean {
    return holder.startsWith(`${this.id}:`) && !holder.endsWith(KEPT_ENDING);
  }

  /** @throws ClientClosedError */
  assertOpen(subject?: CallSubject): void {
    if (this.#open === "to nobody" || (this.#open === "to bodies" && this.threads.current === undefined)) {
      const error = new ClientClosedError();
      throw subject === undefined ? error : forCaller(error, subject);
    }
  }

  /** A waiter that closing the client cancels. The caller must pass it to `dismiss`. */
  newWaiter(waitMs: number | undefined, signal: AbortSignal | undefined, waitsFor?: WaitsFor): Waiter {
    const waiter = new Waiter(this.clock, waitMs, signal);
    waiter.inBody = this.threads.current !== undefined;
    waiter.waitsFor = waitsFor;
    this.#waiters.add(waiter);
    return waiter;
  }

  /** From now on, closing this client also cancels this waiter, which another client has made. The caller must pass it to `dismiss`. */
  admit(waiter: Waiter): void {
    this.#admitted.set(waiter, this.threads.current !== undefined);
  }

  /** The calls that wait, or are about to ask, the oldest first. */
  *waiting(): Iterable<Waiter> {
    yield* this.#waiters;
    yield* this.#admitted.keys();
  }

  dismiss(waiter: Waiter): void {
    waiter.dispose();
    waiter.unlink();
    this.#admitted.delete(waiter);
  }

  /**
   * Starts work outside the caller's async context. Only `close` waits for the work. A rejection is dropped, because by then the caller has
   * its answer.
   */
  inBackground(work: () => Promise<unknown>): void {
    const settled: Promise<unknown> = inRootContext(work).catch(() => undefined);
    this.#background.add(settled);
    void settled.then(() => this.#background.delete(settled));
  }

  /** Runs a callback later, if the client still exists. Never keeps the process alive. */
  after(delayMs: number, work: () => void): void {
    if (delayMs > 0) this.#wheel.schedule(delayMs, work);
    else work();
  }

  /**
   * Accepts no new work from now on, and cancels all waiting calls. Running bodies have `graceMs` to end, with all locks that they still
   * need.
   */
  async shut(graceMs: number): Promise<void> {
    if (graceMs > 0) {
      this.#refuse("to bodies");
      await within(this.clock, graceMs, this.#bodiesEnd());
    }
    this.#refuse("to nobody");
  }

  /**
   * Waits for the commands under way for one command timeout. If the server has been silent for less than that, waits until its silence has
   * lasted a command timeout. Then ends all services.
   */
  async stop(): Promise<void> {
    const { commandTimeoutMs } = this.settings;
    const quiet = this.#quiet();
    await within(this.clock, commandTimeoutMs, quiet);
    // Clean-up goes on for one command timeout after the last command, and then needs one more answer. A silent server does not give it.
    const { silentMs } = this.commands;
    if (silentMs < commandTimeoutMs) await within(this.clock, commandTimeoutMs - silentMs, quiet);
    this.#stopped = true;
    this.#unlisten();
    this.#watchdogs.stop();
    this.#sharedWatchdogs.stop();
    this.#permitWatchdog.stop();
    this.#confirmations?.stop();
    this.fairQueues.stop();
    this.subscriptions.stop();
    this.threads.stop();
    this.commands.stop();
    this.#wheel.stop();
    await within(this.clock, commandTimeoutMs, this.#driver.close());
  }

  /** If the server of a key can change, `Confirmations` asks the new server whether it has the holds. */
  #confirm(): Confirmations | undefined {
    const { topology } = this.#driver.traits;
    if (topology !== "cluster" && topology !== "sentinel") return undefined;
    const client = this;
    return new Confirmations({
      driver: this.#driver,
      clock: this.clock,
      wheel: this.#wheel,
      commands: this.commands,
      required: this.settings.replicas.mode === "require",
      *held() {
        yield* client.threads.stays();
        yield* client.permits.all();
      },
    });
  }

  #refuse(open: "to bodies" | "to nobody"): void {
    this.#open = open;
    this.#closing?.abort(new ClientClosedError());
    if (open === "to nobody") this.commands.hurry();
    const own = [...this.#waiters].map((waiter) => [waiter, waiter.inBody] as const);
    for (const [waiter, inBody] of [...own, ...this.#admitted]) {
      if (open === "to nobody" || !inBody) waiter.cancel(new ClientClosedError());
    }
  }

  /** In a loop, because a running body may start further work. */
  async #bodiesEnd(): Promise<void> {
    while (this.threads.running.size > 0) await Promise.allSettled(this.threads.running);
  }

  /** Waits until nothing is under way, including commands that follow from earlier ones. */
  async #quiet(): Promise<void> {
    do {
      await this.commands.idle();
      await Promise.all(this.#background);
      await new Promise<void>((resolve) => this.clock.schedule(0, resolve, true));
    } while (this.commands.busy || this.#background.size > 0);
  }
}
