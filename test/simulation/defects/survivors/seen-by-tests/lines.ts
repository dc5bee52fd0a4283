import { alike, type Survivor } from "../survivor.js";

/** About lines of waiters: what was planted in the sources, whereupon the test that is named was red. */
export const seenInLines: readonly Survivor[] = [
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: hears from the start when somebody else has listened to the channel shortly before",
    [
      [
        "runtime/wait-line.ts",
        "87:call-dropped",
        "if (this.#services.subscriptions.isOpen(this.ownChannel ?? this.awaited.channel)) this.listen();",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is forgotten with its last waiter: the next one finds a fresh one",
    [
      ["runtime/wait-line.ts", "5:assignment-dropped", "this.askAgainMs = Number.NEGATIVE_INFINITY;"],
      ["runtime/wait-line.ts", "5:assignment-dropped", "this.sighting = undefined;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is no reason to wake the next in line, which sleeps on until it is",
    [["runtime/line-alarm.ts", "52:<=-to->", "return this.#timer !== undefined && this.#atMs <= ms;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is one for each channel, and its head is who came first",
    [
      [
        "runtime/wait-line.ts",
        "23:===-to-!==",
        "return (this.head === undefined ? 0 : 1) + (this.#behind?.size ?? 0);",
      ],
      ["runtime/wait-line.ts", "21:===-to-!==", "if (this.head === waiter) return;"],
      ["runtime/wait-line.ts", "7:assignment-dropped", "this.#behind ??= new Set();"],
      ["runtime/wait-line.ts", "7:call-dropped", "this.#behind.add(waiter);"],
      ["runtime/wait-line.ts", "5:call-dropped", "this.#behind?.delete(next);"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is woken by the 0 of a release and by no other message",
    [["runtime/wait-line.ts", "5:call-dropped", 'this.wake("message");']],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is worth while after the safety period at the latest, of which 0 is drawn",
    [
      ["runtime/line-alarm.ts", "7:assignment-dropped", "this.#timer = undefined;"],
      ["runtime/line-alarm.ts", "24:!==-to-===", "return this.#timer !== undefined && this.#atMs <= ms;"],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is worth while at first, then once the TTL that was seen is surely over",
    [
      ["runtime/wait-line.ts", "5:call-dropped", "this.rest(ttlMs, soonestMs, seenMs);"],
      [
        "runtime/wait-line.ts",
        "5:assignment-dropped",
        "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
      ],
      [
        "runtime/wait-line.ts",
        "35:<-to->=",
        "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
      ],
      [
        "runtime/wait-line.ts",
        "64:+-1-dropped",
        "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
      ],
      [
        "runtime/wait-line.ts",
        "64:+-to--",
        "this.askAgainMs = nowMs + (ms < 0 ? safetyMs : Math.min(ms + 1, safetyMs));",
      ],

      ["runtime/line-alarm.ts", "7:call-dropped", "this.#ring();"],
      [
        "runtime/line-alarm.ts",
        "5:assignment-dropped",
        "this.#timer = this.#clock.schedule(Math.max(ms - this.#clock.monotonicMs(), 0), ring, true);",
      ],
      [
        "runtime/ear.ts",
        "37:||-to-&&",
        "if (this.unlisten !== undefined || clock.monotonicMs() < this.againMs) return;",
      ],
      ["runtime/wait-line.ts", "5:call-dropped", 'this.wake("reconnect");'],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: is worth while when somebody wakes the line, once for all that came before the head asked",
    [["runtime/wait-line.ts", "5:assignment-dropped", "this.#woken = true;"]],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: listens once, however often it is told to, and no more when it is empty",
    [["runtime/ear.ts", "5:call-dropped", "this.unlisten?.(lingers);"]],
  ),
  ...alike("a test sees it", "test/unit/wait-lines.test.ts: remembers who was seen, and when", [
    ["runtime/wait-line.ts", "5:assignment-dropped", "this.sighting = { holder, ttlMs, seenMs };"],
  ]),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: tells everybody in it what its head has failed with",
    [
      [
        "runtime/wait-line.ts",
        "22:===-to-!==",
        "return this.head === undefined ? [] : [this.head, ...(this.#behind ?? [])];",
      ],
    ],
  ),
  ...alike(
    "a test sees it",
    "test/unit/wait-lines.test.ts: wakes the next when its head leaves, and nobody when another does",
    [
      ["runtime/wait-line.ts", "14:===-to-!==", "if (next === undefined) {"],
      ["runtime/wait-line.ts", "9:not-dropped", "if (!mayDoze || next.naps) next.wake();"],
      ["runtime/wait-line.ts", "18:||-to-&&", "if (!mayDoze || next.naps) next.wake();"],
    ],
  ),
];
