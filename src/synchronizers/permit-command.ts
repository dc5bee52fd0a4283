import type { AsyncResource } from "node:async_hooks";
import { UnavailableError } from "../errors.js";
import type { CountAnswer, RepeatableRequest } from "../protocol/count-scripts.js";
import type { Script } from "../protocol/define-script.js";
import type {
  AskingLine,
  CancelledRequest,
  Lot,
  PermitDecision,
  PermitWish,
} from "../protocol/permit-calls.js";
import type { Room } from "../runtime/admission.js";
import type { Patience } from "../runtime/patience.js";
import type { OpenRequest } from "../runtime/requests.js";
import type { Waiter } from "../runtime/waiter.js";
import type { Terms } from "../threads/terms.js";
import { type Count, type Decided, Deciding, decide, persist } from "./count.js";

/** The answer to a wish that was fulfilled. */
export type GrantedPermits = Extract<Decided<PermitDecision>, { readonly status: "granted" }>;

/** How one kind of semaphore gives permits. */
export interface PermitSource<Granted> {
  readonly count: Count;
  readonly terms: Pick<Terms, "leaseMs" | "renewed" | "note">;
  readonly acquire: Script<PermitWish, CountAnswer<PermitDecision>>;
  readonly cancel: Script<PermitWish, CountAnswer<CancelledRequest>>;
  /** What a call is given at once that wants no permits; undefined for any other. */
  readonly nothing?: Granted | undefined;
  /** The permits of one attempt. */
  lot(): Lot;
  /** They were granted. @returns undefined when their lease is over already */
  enter(lot: Lot, answer: GrantedPermits): Granted | undefined;
  /** Nobody was told of them. */
  giveBack(granted: Granted): Promise<void>;
  /** What events tell of them. */
  describe(granted: Granted): string | undefined;
}

/** The call that wants the permits. */
interface Asker {
  readonly source: Pick<PermitSource<unknown>, "count" | "acquire" | "cancel" | "lot">;
  /** By this name permits are saved up for it. */
  readonly owner: string;
  /** Once true, nothing is sent again for it. */
  readonly cancelled: boolean;
  readonly waiter: Waiter;
  heard(answer: Decided<PermitDecision>, command: PermitCommand): void;
  failed(error: unknown): void;
}

/** One attempt to take permits: a request of its own, and what takes back what that may bring. */
export class PermitCommand implements Patience {
  readonly script: Script<PermitWish, CountAnswer<PermitDecision>>;
  readonly patience: Patience = this;
  readonly context: AsyncResource | undefined;
  readonly leaseMs: number;
  readonly lot: Lot;
  /** For how long permits are to be saved up when there are too few; 0: not at all. */
  readonly saveMs: number;
  /** How it enters the queue of the clients that wait; undefined where nobody is known to. */
  readonly queued: AskingLine | undefined;
  readonly #asker: Asker;
  readonly #room: Room;
  readonly #request: OpenRequest;

  /** @param room taken for it already */
  constructor(asker: Asker, saveMs: number, room: Room, queued: AskingLine | undefined) {
    const { count, acquire, lot } = asker.source;
    this.context = asker.waiter.context;
    this.#asker = asker;
    this.#room = room;
    this.script = acquire;
    this.saveMs = saveMs;
    this.queued = queued;
    this.lot = lot();
    const { leaseMs } = this.lot;
    this.leaseMs = leaseMs > 0 ? leaseMs : Number.POSITIVE_INFINITY;
    this.#request = count.client.requests.begin(count.key);
  }

  get cancelled(): boolean {
    return this.#asker.cancelled;
  }

  send(): void {
    new Deciding(this.#asker.source.count, this.#request, this).send();
  }

  input(request: RepeatableRequest): PermitWish {
    return { ...this.#wish(request, this.saveMs), queued: this.queued };
  }

  decided(answer: Decided<PermitDecision>): void {
    const asker = this.#asker;
    asker.source.count.client.admission.answered(this.#room, answer.sentAt);
    try {
      asker.heard(answer, this);
    } catch (error) {
      asker.failed(error);
    }
  }

  failed(error: unknown): void {
    const asker = this.#asker;
    asker.source.count.client.admission.failed(this.#room, error);
    if (error instanceof UnavailableError && error.outcomeUnknown) this.takeBack();
    else this.end("nothing");
    asker.failed(error);
  }

  /** Its outcome is known. @param left as {@link OpenRequest.end} wants it */
  end(left: "nothing" | "answer" | "copies"): void {
    this.#request.end(left);
  }

  /** Makes Redis give back what it has brought, or refuse it when it comes yet. Behind the scenes. */
  takeBack(request: OpenRequest = this.#request): void {
    persist(this.#asker.source.count, request, () => this.#cancel(request));
  }

  /** The same at once, where that can be had. Never rejects. */
  async takeBackNow(): Promise<void> {
    await this.#cancel(this.#request, { replicated: false }).catch(() => undefined);
    // A replica may have it nevertheless, and take over: it is to be told as well.
    this.takeBack();
  }

  /** Nothing is to be saved up any more. */
  letGo(): void {
    const { client, key } = this.#asker.source.count;
    this.takeBack(client.requests.begin(key));
  }

  #cancel(request: OpenRequest, patience?: Patience): Promise<Decided<CancelledRequest>> {
    const { count, cancel } = this.#asker.source;
    return decide(count, request, cancel, (next) => this.#wish(next, 0), patience);
  }

  #wish(request: RepeatableRequest, saveMs: number): PermitWish {
    const { source, owner } = this.#asker;
    const { key: count, channel } = source.count;
    return { count, request, channel, owner, saveMs, ...this.lot };
  }
}
