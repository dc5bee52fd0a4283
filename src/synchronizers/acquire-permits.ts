import { NotReplicatedError, UnavailableError } from "../errors.js";
import type { CountAnswer } from "../protocol/count-scripts.js";
import type { Script } from "../protocol/define-script.js";
import { tellsPermits } from "../protocol/messages.js";
import type { Cancelled, Lot, PermitDecision, PermitWish } from "../protocol/semaphore-scripts.js";
import type { Room } from "../runtime/admission.js";
import { forCaller } from "../runtime/for-caller.js";
import type { Patience } from "../runtime/patience.js";
import type { OpenRequest } from "../runtime/requests.js";
import { standInLine } from "../runtime/stand-in-line.js";
import { traced } from "../runtime/traced.js";
import type { WaitLine } from "../runtime/wait-line.js";
import type { Waiter } from "../runtime/waiter.js";
import { type Count, type Decided, decide, persist } from "./count.js";

/** The answer to a wish that was fulfilled. */
export type GrantedPermits = Extract<Decided<PermitDecision>, { readonly status: "granted" }>;

/** How one kind of semaphore gives permits. */
export interface PermitSource<Granted> {
  readonly count: Count;
  readonly acquire: Script<PermitWish, CountAnswer<PermitDecision>>;
  readonly cancel: Script<PermitWish, CountAnswer<Cancelled>>;
  /** The permits of one attempt. */
  lot(): Lot;
  /** They were granted. @returns undefined when their lease is over already */
  enter(lot: Lot, answer: GrantedPermits): Granted | undefined;
  /** Nobody was told of them. */
  giveBack(granted: Granted): Promise<void>;
  /** What events tell of them. */
  describe(granted: Granted): string | undefined;
}

/** Who has waited for so long for several permits has them saved up for it. */
const SAVES_AFTER_MS = 1_000;
/** Permits are saved up no longer than this for one who does not ask again. */
const SAVE_MS = 3_000;
/** So often it asks again, so that two of its commands may be lost. */
const ASKS_EACH_MS = SAVE_MS / 3;

/** One call that wants permits. */
export class Seeker<Granted> {
  readonly source: PermitSource<Granted>;
  readonly permits: number;
  readonly waiter: Waiter;
  /** Whether the call may wait. */
  readonly waits: boolean;
  readonly owner: string;
  /** How often Redis was asked. */
  attempts = 0;
  /** How many permits there were when it last asked; "unset": there was no semaphore; undefined until they were too few. */
  available: number | "unset" | undefined;
  #turn: { readonly endMs: number; readonly lengthMs: number } | undefined;
  /** All as the waiter's time. */
  #savesFromMs = SAVES_AFTER_MS;
  /** What to do in the end when permits may be saved up for it. */
  saving: (() => void) | undefined;
  /** What goes on although the call was cancelled. */
  settling: Promise<unknown> | undefined;

  constructor(source: PermitSource<Granted>, permits: number, waiter: Waiter, waits: boolean) {
    const { client } = source.count;
    this.source = source;
    this.permits = permits;
    this.waiter = waiter;
    this.waits = waits;
    this.owner = `${client.id}:${client.requests.nextId()}`;
  }

  /** Once the wait is cancelled, nothing is sent again for it. */
  get cancelled(): boolean {
    return this.waiter.cancelled;
  }

  /** For how long permits are to be saved up. */
  get saveMs(): number {
    const { waitedMs } = this.waiter;
    if (!this.waits || this.permits === 1 || waitedMs < this.#savesFromMs) return 0;
    return this.#turn === undefined || waitedMs < this.#turn.endMs ? SAVE_MS : 0;
  }

  /**
   * Whether permits are saved up for it now. It goes by turns: for as long as it has waited before, and then for twice that not.
   * Redis saves nothing up for anybody for as long as the latest turn was, so that neither those who want few permits keep it
   * out, nor it them when there will never be so many, and others of its kind have their turns in between.
   */
  savedUp(saving: boolean): void {
    const { waitedMs } = this.waiter;
    const turn = this.#turn;
    if (saving) this.#turn ??= { endMs: 2 * waitedMs, lengthMs: waitedMs };
    else if (turn !== undefined) {
      this.#turn = undefined;
      if (waitedMs >= turn.endMs) this.#savesFromMs = waitedMs + 2 * turn.lengthMs;
    }
  }
}

/** What an attempt has brought. */
interface Outcome<Granted> {
  /** undefined: there were not enough. */
  readonly granted: Granted | undefined;
  /** How many permits are available still. */
  readonly left: number;
  /** After so many milliseconds there may be more; negative: unknown. */
  readonly moreMs: number;
}

/**
 * Takes permits, waiting for as long as the waiter does.
 * @returns undefined when there were not enough in time
 * @throws the reason of a cancelled wait; UnavailableError, WrongTypeError
 */
export function acquirePermits<Granted>(seeker: Seeker<Granted>): Promise<Granted | undefined> {
  const { source, waits, permits } = seeker;
  const { count } = source;
  const lock = { name: count.name, kind: { name: count.kind } };
  const work = async () => {
    try {
      return waits ? await wait(seeker) : (await ask(seeker)).granted;
    } catch (error) {
      throw forCaller(error, count, seeker.waiter);
    }
  };
  return traced(lock, seeker, work, (granted) => {
    const holder = source.describe(granted);
    return holder === undefined ? { permits } : { permits, holder };
  });
}

/** Those who want equally many stand in one line. */
async function wait<Granted>(seeker: Seeker<Granted>): Promise<Granted | undefined> {
  const { source, waiter, permits } = seeker;
  const { client, key, channel, kind } = source.count;
  try {
    return await standInLine(client.lines, {
      awaited: { id: `${kind} ${permits}:${key}`, channel, tells: tellsPermits },
      waiter,
      ask: (line) => askInLine(seeker, line),
      over() {
        if (waiter.cancelled) throw waiter.reason;
      },
    });
  } finally {
    const { settling } = seeker;
    if (settling === undefined) seeker.saving?.();
    else client.inBackground(() => settling.finally(() => seeker.saving?.()));
  }
}

async function askInLine<Granted>(seeker: Seeker<Granted>, line: WaitLine): Promise<Granted | undefined> {
  const { granted, left, moreMs } = await ask(seeker);
  if (granted !== undefined && left >= seeker.permits) line.wake();
  else line.rest(moreMs, seeker.permits === 1 ? undefined : ASKS_EACH_MS);
  return granted;
}

/** @throws the reason of a cancelled wait */
async function ask<Granted>(seeker: Seeker<Granted>): Promise<Outcome<Granted>> {
  const { source, waiter } = seeker;
  const attempt = attemptUntilOfUse(seeker);
  const outcome = await waiter.unlessCancelled(attempt);
  if (outcome !== undefined) return outcome;
  // Whatever the attempt brings is given back behind the scenes.
  const settling = attempt.then(({ granted }) =>
    granted === undefined ? undefined : source.giveBack(granted),
  );
  seeker.settling = settling;
  source.count.client.inBackground(() => settling);
  throw waiter.reason;
}

async function attemptUntilOfUse<Granted>(seeker: Seeker<Granted>): Promise<Outcome<Granted>> {
  for (;;) {
    const outcome = await attempt(seeker);
    if (outcome !== undefined) return outcome;
    if (seeker.waiter.over) return { granted: undefined, left: 0, moreMs: -1 };
  }
}

/** @returns undefined when permits were granted too late to be of use, or it was not sent: its time is up, or it was cancelled */
async function attempt<Granted>(seeker: Seeker<Granted>): Promise<Outcome<Granted> | undefined> {
  const { source, owner, waiter } = seeker;
  const { client, key } = source.count;
  const { admission } = client;
  const goesFirst = seeker.saving !== undefined;
  const room = admission.enter(key) ?? (await admission.turn({ key, waiter, goesFirst }));
  if (room === undefined) return undefined;
  const { saveMs } = seeker;
  const lot = source.lot();
  const request = client.requests.begin(key);
  const undo = () => takeBack(source, request, lot, owner);
  seeker.attempts += 1;
  // Also what a command that is not answered has saved up is to be let go.
  if (saveMs > 0) seeker.saving = () => takeBack(source, client.requests.begin(key), lot, owner);
  const answer = await askOnce(seeker, request, { lot, saveMs, room });
  if (saveMs === 0 || answer.status === "granted") seeker.saving = undefined;
  switch (answer.status) {
    case "granted": {
      if (answer.shortfall !== undefined) {
        await takeBackNow(source, request, lot, owner);
        const { acknowledged, wanted, timeoutMs } = answer.shortfall;
        const { name } = source.count;
        throw new NotReplicatedError(name, acknowledged, wanted, timeoutMs, `permits of "${name}" were`);
      }
      const granted = source.enter(lot, answer);
      if (granted === undefined) {
        undo();
        return undefined;
      }
      request.end(answer.repeated ? "copies" : "answer");
      return { granted, left: answer.available, moreMs: answer.moreMs ?? -1 };
    }
    case "short":
      seeker.available = answer.exists === 0 ? "unset" : answer.available;
      seeker.savedUp(answer.saving === 1);
      // A copy that is still under way may yet be granted.
      if (answer.repeated) undo();
      else request.end("nothing");
      return { granted: undefined, left: answer.available, moreMs: answer.moreMs };
    default:
      request.end("copies");
      return undefined;
  }
}

async function askOnce<Granted>(
  seeker: Seeker<Granted>,
  request: OpenRequest,
  { lot, saveMs, room }: { readonly lot: Lot; readonly saveMs: number; readonly room: Room },
): Promise<Decided<PermitDecision>> {
  const { source, owner } = seeker;
  const { admission } = source.count.client;
  const { key: count, channel } = source.count;
  const { leaseMs } = lot;
  const patience: Patience = {
    get cancelled() {
      return seeker.cancelled;
    },
    ...(leaseMs > 0 && { leaseMs }),
  };
  try {
    const wish = (request: PermitWish["request"]) => ({ count, request, channel, owner, saveMs, ...lot });
    const decided = await decide(source.count, request, source.acquire, wish, patience);
    admission.answered(room, decided.sentAt);
    return decided;
  } catch (error) {
    admission.failed(room, error);
    if (error instanceof UnavailableError && error.outcomeUnknown) takeBack(source, request, lot, owner);
    else request.end("nothing");
    throw error;
  }
}

/** Makes Redis give back what a request has brought, or refuse it when it comes yet. Behind the scenes. */
function takeBack<Granted>(
  source: PermitSource<Granted>,
  request: OpenRequest,
  lot: Lot,
  owner: string,
): void {
  persist(source.count, request, () => cancel(source, request, lot, owner));
}

/** The same at once, where that can be had. Never rejects. */
async function takeBackNow<Granted>(
  source: PermitSource<Granted>,
  request: OpenRequest,
  lot: Lot,
  owner: string,
): Promise<void> {
  await cancel(source, request, lot, owner, { replicated: false }).catch(() => undefined);
  // A replica may have it nevertheless, and take over: it is to be told as well.
  takeBack(source, request, lot, owner);
}

function cancel<Granted>(
  source: PermitSource<Granted>,
  request: OpenRequest,
  lot: Lot,
  owner: string,
  patience?: Patience,
): Promise<Decided<Cancelled>> {
  const { key, channel } = source.count;
  const wish = (request: PermitWish["request"]) => ({
    count: key,
    request,
    channel,
    owner,
    saveMs: 0,
    ...lot,
  });
  return decide(source.count, request, source.cancel, wish, patience);
}
