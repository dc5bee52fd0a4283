import { HoldfastError, LeaseLostError } from "../errors.js";

/** The thing that a call is about. */
export interface CallSubject {
  /** The name that the program uses. */
  readonly name: string;
  /** The kind as events name it: `fair-lock`. */
  readonly kind: string | { readonly name: string };
}

/** A wait that the caller's signal may cancel. */
interface Heeding {
  isReasonOfSignal(error: unknown): boolean;
}

/** The subject as error messages name it: `fair lock "order:7"`. */
function titleOf({ name, kind }: CallSubject): string {
  const words = typeof kind === "string" ? kind : kind.name;
  return `${words.replace(/-(?=\w+$)/, " ")} "${name}"`;
}

/**
 * The error that a call rejects with after a failure elsewhere: in a timer, in a reply handler, or for several calls at once. An error of
 * holdfast is copied, so that its stack names this caller, and its message names the subject of the call. Any other error belongs to the
 * caller, like the reason of its signal, and is not changed.
 *
 * Use it in an async function that the caller awaits: V8 adds the awaiting functions to the stack.
 *
 * @param subject undefined for a call that is not about a lock
 */
export function forCaller(error: unknown, subject: CallSubject | undefined, waiter?: Heeding): unknown {
  if (!(error instanceof HoldfastError) || waiter?.isReasonOfSignal(error)) return error;
  if (subject === undefined) return copyOf(error);
  const { message } = error;
  if (!message.includes(`"${subject.name}"`)) return copyOf(error, `${titleOf(subject)}: ${message}`);
  return error instanceof LeaseLostError ? lossForCaller(error) : copyOf(error);
}

/** Copies an error, with the current stack. */
export function copyOf<E extends HoldfastError>(error: E, message: string = error.message): E {
  const copy = new Error(message, "cause" in error ? { cause: error.cause } : undefined);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  Object.assign(copy, error);
  // The first line of the stack is made here, with the name of the class.
  Error.captureStackTrace(copy, copyOf);
  return copy as E;
}

/**
 * Makes an error to store and hand to callers later. An error keeps the frames of its creation, and everything that the frames reference,
 * until its stack is read. The error made here has no frames. Each caller gets its own stack.
 */
export function frameless<E extends HoldfastError>(make: () => E): E {
  const { stackTraceLimit } = Error;
  // If a program has frozen `Error`, the error keeps its frames.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

const handedOut = new WeakSet<HoldfastError>();

/**
 * The error of a loss for a caller. The first caller gets the object that is the reason of the lease's signal, with the current stack,
 * because a timer may have created it; each later caller gets a copy.
 */
export function lossForCaller<E extends HoldfastError>(loss: E): E {
  if (handedOut.has(loss)) return copyOf(loss);
  handedOut.add(loss);
  Error.captureStackTrace(loss, lossForCaller);
  return loss;
}

/** Lets a caller join the work of an earlier call. */
export async function alsoForCaller(underWay: Promise<void>, subject: CallSubject): Promise<void> {
  try {
    await underWay;
  } catch (error) {
    throw forCaller(error, subject);
  }
}
