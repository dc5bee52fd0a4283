import { AsyncLocalStorage } from "node:async_hooks";
import { NotReplicatedError, type UnavailableError } from "../errors.js";
import { events } from "../events.js";
import { tellsPermits } from "../protocol/messages.js";
import type { PermitDecision } from "../protocol/permit-calls.js";
import type { Entrant, Room } from "../runtime/admission.js";
import { isTraced, traced } from "../runtime/traced.js";
import type { Waiter } from "../runtime/waiter.js";
import { CallInLine } from "./call-in-line.js";
import type { Decided } from "./count.js";
import { type GrantedPermits, PermitCommand, type PermitSource } from "./permit-command.js";
import { askingLine, joinPermitQueue, leavePermitQueue } from "./permit-queue.js";
import { ASKS_EACH_MS, SavingTurns } from "./saving-turns.js";

/** The demand of one call. */
interface WantedPermits {
  readonly permits: number;
  readonly waiter: Waiter;
  /** Whether the call may wait. */
  readonly waits: boolean;
}

/** The facts about a call that did not get its permits. */
export interface InVain {
  readonly permits: number;
  readonly waitedMs: number;
  /** How many permits were available when the call last asked; "unset": there was no semaphore; undefined if there was no answer. */
  readonly available: number | "unset" | undefined;
}

/** Makes the result of a call. @param granted undefined if there were not enough permits in time */
type PermitsResult<Granted, T> = (granted: Granted | undefined, call: InVain) => Promise<T> | T;

/**
 * Takes permits; waits as long as the waiter does.
 * @param come called in the caller's async context
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export function acquirePermits<Granted, T>(
  source: PermitSource<Granted>,
  wanted: WantedPermits,
  come: PermitsResult<Granted, T>,
): Promise<T> {
  if (!isTraced(events.acquire)) return new PermitAcquisition(source, wanted, come).run();
  const { count, terms } = source;
  const { client, name, kind } = count;
  const call = new PermitAcquisition(source, wanted, (granted) => granted);
  const { permits } = wanted;
  const describe = (granted: Granted) => {
    const holder = source.describe(granted);
    return holder === undefined ? { permits } : { permits, holder };
  };
  return traced({ client, name, kind, terms }, call, () => call.run(), describe).then((granted) =>
    come(granted, call),
  );
}

/** One call for permits. Calls for the same number of permits share a line. */
class PermitAcquisition<Granted, T> extends CallInLine<T> implements Entrant, InVain {
  readonly source: PermitSource<Granted>;
  readonly permits: number;
  readonly waits: boolean;
  readonly owner: string;
  /** Runs a function in the caller's async context; undefined if the event for waiting calls has no subscriber. */
  #inCallersContext: ReturnType<typeof AsyncLocalStorage.snapshot> | undefined;
  available: InVain["available"];
  readonly #come: PermitsResult<Granted, T>;
  /** Decides when permits are saved up for the call; undefined if the call wants only one permit, or may not wait. */
  readonly #turns: SavingTurns | undefined;
  /** The latest attempt for which Redis may have saved permits up, even if it was not answered. */
  #saving: PermitCommand | undefined;
  #granted: Granted | undefined;
  /** The result of an attempt that continues although the call was cancelled. */
  #late: Promise<Granted | undefined> | undefined;
  #lateEnd: ((granted: Granted | undefined) => void) | undefined;

  constructor(
    source: PermitSource<Granted>,
    { permits, waiter, waits }: WantedPermits,
    come: PermitsResult<Granted, T>,
  ) {
    super(source.count, waiter);
    const { client } = source.count;
    this.source = source;
    this.permits = permits;
    this.waits = waits;
    this.owner = `${client.id}:${client.requests.nextId()}`;
    this.#come = come;
    this.#turns = waits && permits > 1 ? new SavingTurns(waiter) : undefined;
  }

  get key(): string {
    return this.count.key;
  }

  get cancelled(): boolean {
    return this.waiter.cancelled;
  }

  get waitedMs(): number {
    return this.waiter.waitedMs;
  }

  /** Other calls cannot take permits that are saved up for this call, and must leave permits to it if it was told its turn. */
  get goesFirst(): boolean {
    return this.#saving !== undefined || (this.attempts > 0 && this.line?.queues === true);
  }

  run(): Promise<T> {
    const { kind, key, channel } = this.count;
    const { waits, permits } = this;
    if (events.contended.hasSubscribers) this.#inCallersContext = AsyncLocalStorage.snapshot();
    const begun = this.begin(
      waits
        ? { id: `${kind} ${permits}:${key}`, channel, releasedAs: channel, tells: tellsPermits }
        : undefined,
    );
    if (this.#inCallersContext !== undefined && !this.isAsking) this.#tellContended();
    return begun;
  }

  /** Called once for each call. A call that is not asking waits behind other calls. */
  #tellContended(): void {
    const tell = this.#inCallersContext;
    this.#inCallersContext = undefined;
    const behind = this.isAsking || this.line === undefined ? 0 : this.line.length - 1;
    const { client, name, kind } = this.count;
    const event = { ...client.about, name, kind, holder: "", ttlMs: -1, own: false, behind };
    this.waiter.toldContended(event);
    tell?.(() => events.contended.publish(event));
  }

  protected ask(): void {
    const { admission } = this.count.client;
    const room = admission.enter(this.key);
    if (room === undefined) admission.wait(this);
    else this.admitted(room);
  }

  admitted(room: Room): void {
    const { line, count, permits } = this;
    const mayQueue = line !== undefined && (line.queues || count.client.lines.waitedFor.has(count.channel));
    const queued = mayQueue ? askingLine(count, permits, line) : undefined;
    const command = new PermitCommand(this, this.#turns?.saveMs ?? 0, room, queued);
    this.attempts += 1;
    if (command.saveMs > 0) this.#saving = command;
    command.send();
  }

  /**
   * The command was not sent: the call's time is up, it was cancelled, or its server does not answer. A wake-up that the call has used goes
   * to the next call in line.
   */
  dismissed(error?: UnavailableError): void {
    if (error !== undefined) {
      this.failed(error);
      return;
    }
    this.line?.wake();
    this.giveUp({ waitsOn: false });
  }

  heard(answer: Decided<PermitDecision>, command: PermitCommand): void {
    if (command.saveMs === 0 || answer.status === "granted") this.#saving = undefined;
    if (command.queued !== undefined) this.#standsBy(answer, command.queued.way === "asks");
    switch (answer.status) {
      case "granted":
        this.#given(answer, command);
        return;
      case "short":
        if (this.#inCallersContext !== undefined && this.isAsking) this.#tellContended();
        this.available = answer.exists === 0 ? "unset" : answer.available;
        this.told(answer.sentAt.monotonicMs);
        this.#turns?.savedUp(answer.saving === 1);
        // Other clients were faster after a message to all waiters, or are known to wait. So the line joins the queue: then a release wakes
        // only one client.
        if (this.line && (this.news === "message" || (command.queued && answer.waiting)))
          joinPermitQueue(this.count, this.permits, this.line);
        // A copy of the request may still arrive and be granted.
        if (answer.repeated) command.takeBack();
        else command.end("nothing");
        this.#tooFew(answer.moreMs);
        return;
      default:
        command.end("copies");
        this.#useless();
    }
  }

  /**
   * If all calls of the line gave up meanwhile, the line left the queue, but this request may have put it back: the line leaves again. If
   * other calls have joined the line, the line may wait without a place in the queue: the next call asks for one.
   */
  #standsBy({ status, waiting = 0 }: Decided<PermitDecision>, takesNoPlace: boolean): void {
    const { count, line } = this;
    if (takesNoPlace && waiting > 0) count.client.lines.wasHeard(count.channel);
    if (takesNoPlace || line === undefined) return;
    const isGranted = status === "granted";
    line.ears?.standsFor(waiting, isGranted);
    if (isGranted && waiting < 2 && line.length > 1) line.wake();
    leavePermitQueue(count, this.permits, line);
  }

  #given(answer: GrantedPermits, command: PermitCommand): void {
    const { source, line } = this;
    if (answer.shortfall !== undefined) {
      const { acknowledged, wanted, timeoutMs } = answer.shortfall;
      const { name } = source.count;
      const error = new NotReplicatedError(
        name,
        acknowledged,
        wanted,
        timeoutMs,
        `permits of "${name}" were`,
      );
      void command.takeBackNow().then(() => this.failed(error));
      return;
    }
    const granted = source.enter(command.lot, answer);
    if (granted === undefined) {
      command.takeBack();
      this.#useless();
      return;
    }
    command.end(answer.repeated ? "copies" : "answer");
    if (this.#lateEnd !== undefined) {
      this.#lateEnd(granted);
      return;
    }
    this.#granted = granted;
    if (answer.available >= this.permits) line?.wake();
    else {
      line?.answers.taken(answer.sentAt.monotonicMs);
      this.#rest(answer.moreMs ?? -1);
    }
    this.entered();
  }

  /** The permits were granted too late, so the call asks again or ends. */
  #useless(): void {
    if (this.waiter.over) this.#tooFew(-1);
    else this.ask();
  }

  #tooFew(moreMs: number): void {
    if (this.#lateEnd !== undefined) {
      this.#lateEnd(undefined);
      return;
    }
    this.#rest(moreMs);
    this.refused();
  }

  #rest(moreMs: number): void {
    this.line?.rest(moreMs, this.#turns === undefined ? undefined : ASKS_EACH_MS);
  }

  override failed(error: unknown): void {
    if (this.#lateEnd === undefined) super.failed(error);
    else this.#lateEnd(undefined);
  }

  protected override abandon(): void {
    this.#late = new Promise((resolve) => {
      this.#lateEnd = resolve;
    });
  }

  /** Permits that come although the call was cancelled are given back in the background. */
  protected override left(): void {
    const { source, line } = this;
    const letGo = () => this.#saving?.letGo();
    if (line?.ears?.mayWait) leavePermitQueue(this.count, this.permits, line);
    if (this.#late === undefined) {
      letGo();
      return;
    }
    const settling = this.#late.then((granted) =>
      granted === undefined ? undefined : source.giveBack(granted),
    );
    source.count.client.inBackground(() => settling.finally(letGo));
  }

  protected come(): Promise<T> | T {
    const { count, waiter } = this;
    const { client } = count;
    const granted = this.#granted;
    if (granted !== undefined) client.acquired += 1;
    if (granted === undefined) client.tally?.ended(count, "over", waiter);
    else if (waiter.hasSlept) client.tally?.ended(count, "entered", waiter);
    return this.#come(granted, this);
  }
}
