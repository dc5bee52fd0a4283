import { HoldfastError, LeaseLostError } from "../errors.js";

/** What a call is about. */
export interface CallSubject {
  /** The name that the program uses. */
  readonly name: string;
  /** As events tell it: `fair-lock`. */
  readonly kind: string | { readonly name: string };
}

/** A wait that the caller's signal may cancel. */
interface Heeding {
  isReasonOfSignal(error: unknown): boolean;
}

/** The subject in the words of an error: `fair lock "order:7"`. */
function titleOf({ name, kind }: CallSubject): string {
  const words = typeof kind === "string" ? kind : kind.name;
  return `${words.replace(/-(?=\w+$)/, " ")} "${name}"`;
}

/**
 * What a call rejects with when something failed elsewhere: in a timer, in a reply handler, or for several calls at once. An error of
 * holdfast is copied, so that it has this caller in its stack, and tells in its text what the call was about. Any other error is the
 * caller's own, as is the reason of its signal, and stays as it is.
 *
 * To be used in an async function that the caller awaits: V8 adds the functions that wait for it to the stack.
 *
 * @param subject undefined for a call that is about no lock
 */
export function forCaller(error: unknown, subject: CallSubject | undefined, waiter?: Heeding): unknown {
  if (!(error instanceof HoldfastError) || waiter?.isReasonOfSignal(error)) return error;
  if (subject === undefined) return copyOf(error);
  const { message } = error;
  if (!message.includes(`"${subject.name}"`)) return copyOf(error, `${titleOf(subject)}: ${message}`);
  return error instanceof LeaseLostError ? lossForCaller(error) : copyOf(error);
}

/** The same error once more, with the stack of this moment. */
export function copyOf<E extends HoldfastError>(error: E, message: string = error.message): E {
  const copy = new Error(message, "cause" in error ? { cause: error.cause } : undefined);
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error));
  Object.assign(copy, error);
  // Its first line is made up now, with the name of the class.
  Error.captureStackTrace(copy, copyOf);
  return copy as E;
}

/**
 * Makes an error that is stored, and told to callers later. An error keeps the frames of where it was made until its stack is read, and with
 * them all that they work with: this one has none. A caller who is told gets a stack of its own.
 */
export function frameless<E extends HoldfastError>(make: () => E): E {
  const { stackTraceLimit } = Error;
  // Where a program has frozen it, the error has its frames.
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    return make();
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

const handedOut = new WeakSet<HoldfastError>();

/**
 * The error of a loss, for a caller that is told of it. The first caller gets the object that is the reason of the lease's signal, with the
 * stack of this moment, as a timer may have made it; each later caller gets a copy.
 */
export function lossForCaller<E extends HoldfastError>(loss: E): E {
  if (handedOut.has(loss)) return copyOf(loss);
  handedOut.add(loss);
  Error.captureStackTrace(loss, lossForCaller);
  return loss;
}

/** For a caller that joins the work of an earlier call. */
export async function alsoForCaller(underWay: Promise<void>, subject: CallSubject): Promise<void> {
  try {
    await underWay;
  } catch (error) {
    throw forCaller(error, subject);
  }
}
