import type { Around, AroundHold } from "../client-options.js";
import type { Subject } from "./held.js";
import { isThenable } from "./threads.js";

interface GivenSubject extends Pick<Subject, "name" | "kind" | "holder"> {
  readonly token?: bigint | undefined;
  readonly note?: string | undefined;
}

/**
 * Runs a body inside the function of the client's option `around`. The call ends when the body and `around` have ended: the body's hold is
 * kept until then, even if `around` does not wait for the body.
 */
export function surrounded<T>(
  around: Around,
  { name, kind, holder, token, note }: GivenSubject,
  body: () => T | Promise<T>,
): () => T | Promise<T> {
  const hold: AroundHold = {
    name,
    kind,
    holder,
    ...(token === undefined ? {} : { token }),
    ...(note === undefined ? {} : { note }),
  };
  return () => {
    let state: "to begin" | "begun" | "over" = "to begin";
    let running: T | Promise<T> | undefined;
    const begin = () => {
      if (state !== "to begin") throw new Error(`around called the body of "${name}" again, or too late`);
      state = "begun";
      running = body();
      return running;
    };
    const end = (outcome: () => T | Promise<T>): T | Promise<T> => {
      state = "over";
      return isThenable(running) ? running.then(outcome, outcome) : outcome();
    };
    const threw = (error: unknown) => end(() => Promise.reject(error));
    const returned = (value: T) =>
      state === "to begin" ? threw(new Error(`around did not call the body of "${name}"`)) : end(() => value);
    let result: T | Promise<T>;
    try {
      result = around(hold, begin);
    } catch (error) {
      return threw(error);
    }
    return isThenable(result) ? result.then(returned, threw) : returned(result);
  };
}
