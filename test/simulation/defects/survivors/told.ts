import { alike, type Survivor } from "./survivor.js";

/** What only what a program is told depends on. */
export const told: readonly Survivor[] = [
  ...alike("only told", "Events say more or less: see test/unit/events.test.ts.", [
    ["threads/stay.ts", "*", "events.leaseLost"],
    ["threads/permit-holds.ts", "*", "events.leaseLost.publish("],
    ["threads/permit-holds.ts", "not-dropped", "!events.leaseLost.hasSubscribers"],
    ["locks/refusal.ts", "*", "events.contended"],
    ["locks/refusal.ts", "*", "isContended"],
    ["locks/acquisition.ts", "*", "events.contended"],
    ["locks/acquisition.ts", "*", "waitEndedBy"],
    ["locks/acquisition.ts", "*", "this.freeMeans ="],
    ["locks/attempt.ts", "*", "waitEndedBy"],
    ["locks/attempt.ts", "*", "this.freeMeans ="],
    ["locks/red-lock.ts", "*", "waitEndedBy"],
    ["locks/release.ts", "*", "events.release"],
    ["locks/release.ts", "*", "tell("],
    ["runtime/watchdog.ts", "*", "events.renewalFailed"],
    ["synchronizers/semaphore.ts", "*", "events.releaseFailed"],
    ["synchronizers/permit-expirable-semaphore.ts", "*", "events.release"],
  ]),
  ...alike(
    "only told",
    "The event of a loss comes in time, or when somebody looks at the lease: see test/locks/lease-told.test.ts. A signal has an alarm of its own.",
    [
      ["threads/trust.ts", "*", "const isCertain ="],
      ["threads/trust.ts", "call-dropped", "if (events.leaseLost.hasSubscribers) this.watch();"],
    ],
  ),
  ...alike("only told", "The text of an error: see test/locks/error-messages.test.ts.", [
    ["locks/release.ts", "*", "const isFixed ="],
    ["runtime/watchdog.ts", "*", 'return "the server refused to renew some locks"'],
    ["synchronizers/permit-expirable-semaphore.ts", "*", 'absent === 1 ? "is unknown'],
  ]),
  ...alike("only told", "A warning about how the server is set up.", [
    ["runtime/commands.ts", "call-dropped", "this.unsuited.met("],
  ]),
  ...alike(
    "only told",
    "A server is asked anew how it is set up only while somebody listens: see test/locks/ping.test.ts.",
    [["runtime/server-clocks.ts", "*", "this.#metAgain(command.key)"]],
  ),
];
