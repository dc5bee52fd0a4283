import { type Span, SpanStatusCode } from "@opentelemetry/api";
import { events, type LeaseLostEvent } from "../events.js";
import { LOSS_REASON } from "./attributes.js";
import { neverThrowing } from "./listening.js";

interface HeldBody {
  readonly name: string;
  readonly holder: string;
}

/**
 * The spans of bodies that run, so that they can report the loss of a lease. A joint lock's losses are reported for each member, so no span
 * shows them.
 */
class OpenSpans {
  readonly #spans = new Map<string, Set<Span>>();
  #listens = false;

  /** Subscribes to losses until the process ends, because a client keeps its `around` for good. */
  listen(): void {
    if (this.#listens) return;
    this.#listens = true;
    events.leaseLost.subscribe(
      neverThrowing("the loss of a lease in its span", (event) => this.#lost(event)),
    );
  }

  add(hold: HeldBody, span: Span): void {
    const id = idOf(hold);
    const spans = this.#spans.get(id);
    if (spans === undefined) this.#spans.set(id, new Set([span]));
    else spans.add(span);
  }

  delete(hold: HeldBody, span: Span): void {
    const id = idOf(hold);
    const spans = this.#spans.get(id);
    spans?.delete(span);
    if (spans?.size === 0) this.#spans.delete(id);
  }

  /** Nested holds are lost together, with an event for each: the span reports the first. */
  #lost(event: LeaseLostEvent): void {
    const id = idOf(event);
    const spans = this.#spans.get(id) ?? [];
    this.#spans.delete(id);
    for (const span of spans) {
      span.addEvent("holdfast.lease.lost", { [LOSS_REASON]: event.reason });
      span.setStatus({ code: SpanStatusCode.ERROR, message: `the lease was lost: ${event.reason}` });
    }
  }
}

/** Names the thread and the lock, because a thread may hold several locks. The holder contains no space. */
function idOf({ name, holder }: HeldBody): string {
  return `${holder} ${name}`;
}

/** The spans of all clients of this process. */
export const openSpans: OpenSpans = new OpenSpans();
