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

/** The answer that permits were granted. */
export type GrantedPermits = Extract<Decided<PermitDecision>, { readonly status: "granted" }>;

/** How one kind of semaphore grants permits. */
export interface PermitSource<Granted> {
  readonly count: Count;
  readonly terms: Pick<Terms, "leaseMs" | "renewed" | "note">;
  readonly acquire: Script<PermitWish, CountAnswer<PermitDecision>>;
  readonly cancel: Script<PermitWish, CountAnswer<CancelledRequest>>;
  /** The immediate result of a call for no permits; undefined for any other call. */
  readonly nothing?: Granted | undefined;
  /** The permits of one attempt. */
  lot(): Lot;
  /** Records granted permits. @returns undefined if their lease is already over */
  enter(lot: Lot, answer: GrantedPermits): Granted | undefined;
  /** Gives back permits that no caller has received. */
  giveBack(granted: Granted): Promise<void>;
  /** The permits, as events describe them. */
  describe(granted: Granted): string | undefined;
}

/** The call for the permits. */
interface Asker {
  readonly source: Pick<PermitSource<unknown>, "count" | "acquire" | "cancel" | "lot">;
  /** The name under which permits are saved up for the call. */
  readonly owner: string;
  /** Once true, nothing more is sent for the call. */
  readonly cancelled: boolean;
  readonly waiter: Waiter;
  heard(answer: Decided<PermitDecision>, command: PermitCommand): void;
  failed(error: unknown): void;
}

/** One attempt to take permits. It is a separate request, which can also take back the permits that were granted to it. */
export class PermitCommand implements Patience {
  readonly script: Script<PermitWish, CountAnswer<PermitDecision>>;
  readonly patience: Patience = this;
  readonly context: AsyncResource | undefined;
  readonly leaseMs: number;
  readonly lot: Lot;
  /** How long permits are saved up if there are too few; 0: not at all. */
  readonly saveMs: number;
  /** How the request enters the queue of waiting clients; undefined if no client is known to wait. */
  readonly queued: AskingLine | undefined;
  readonly #asker: Asker;
  readonly #room: Room;
  readonly #request: OpenRequest;

  /** @param room that was already taken for this command */
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

  /** Ends the request, whose outcome is known. @param left as for {@link OpenRequest.end} */
  end(left: "nothing" | "answer" | "copies"): void {
    this.#request.end(left);
  }

  /** Makes Redis take back the granted permits, or refuse a copy of the request that is still to come. Runs in the background. */
  takeBack(request: OpenRequest = this.#request): void {
    persist(this.#asker.source.count, request, () => this.#cancel(request));
  }

  /** Takes the permits back at once if possible. Never rejects. */
  async takeBackNow(): Promise<void> {
    await this.#cancel(this.#request, { replicated: false }).catch(() => undefined);
    // A replica that has the grant may take over, so the replicas must get this change as well.
    this.takeBack();
  }

  /** Tells Redis to save up no more permits for the call. */
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
