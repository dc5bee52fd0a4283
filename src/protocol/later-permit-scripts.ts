import { type CountAnswer, countAnswer, requestArgs } from "./count-scripts.js";
import { defineScript, type Script } from "./define-script.js";
import * as scripts from "./later-scripts.js";
import { permitLeasesKey, savedPermitsKey, waitingKey } from "./names.js";
import type { AskingLine, ToSemaphore } from "./permit-calls.js";

interface Leaving extends Omit<AskingLine, "way"> {
  readonly count: string;
  readonly channel: string;
}

/** Takes a line out of the queue; see permit-leave.lua. */
export const permitLeave: Script<Leaving, CountAnswer<{ readonly status: "left" }>> = defineScript({
  source: scripts.permitLeave,
  keys: ({ count }) => [count, waitingKey(count), savedPermitsKey(count)],
  args: ({ channel, line, countsAll }) => [channel, line, countsAll ? 1 : 0],
  reply: countAnswer({ left: [] }),
});

/** Changes how many permits there are, in and out; see permit-set-total.lua. */
export const permitSetTotal: Script<
  ToSemaphore & { readonly total: number },
  CountAnswer<{ readonly status: "set" }>
> = defineScript({
  source: scripts.permitSetTotal,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, total }) => [...requestArgs(request), channel, total],
  reply: countAnswer({ set: [] }),
});

interface Resizing extends ToSemaphore {
  readonly seen: number;
  readonly total: number;
}

/** Changes how many permits either kind of semaphore has, if it has as many as were seen; see semaphore-resize.lua. */
export const semaphoreResize: Script<
  Resizing,
  CountAnswer<{ readonly status: "set" | "absent" | "changed" }>
> = defineScript({
  source: scripts.semaphoreResize,
  replicated: "if possible",
  keys: ({ count, request }) => [count, request.requests, permitLeasesKey(count)],
  args: ({ request, channel, seen, total }) => [...requestArgs(request), channel, seen, total],
  reply: countAnswer({ set: [], absent: [], changed: [] }),
});

interface Drained {
  readonly status: "drained";
  readonly permits: number;
}

/** Takes all permits that are available; see semaphore-drain.lua. */
export const semaphoreDrain: Script<Omit<ToSemaphore, "channel">, CountAnswer<Drained>> = defineScript({
  source: scripts.semaphoreDrain,
  replicated: true,
  keys: ({ count, request }) => [count, request.requests],
  args: ({ request }) => requestArgs(request),
  reply: countAnswer<Drained>({ drained: ["permits"] }),
});
