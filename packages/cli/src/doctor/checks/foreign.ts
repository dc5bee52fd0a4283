import { WrongTypeError } from "holdfast";
import { tellDuration } from "../../duration.js";
import { isHolder } from "../../text/tell-holder.js";
import { type Check, type Finding, fail, ok, warn } from "../check.js";

const doc = "docs/reference/keys.md";
const advice = {
  why: "A call for a lock of this name fails with WrongTypeError, and fails in JVMs too.",
  wanted: "Give the lock another name, or delete the key.",
  doc,
};

/** Whether a name can be the name of a lock. */
export const foreign: Check = {
  id: "foreign",
  moot: ({ name }) => (name === undefined ? "no --name" : undefined),
  async look({ holdfast, redis, settings, name = "" }): Promise<readonly Finding[]> {
    const key = settings.prefix + name;
    try {
      const state = await holdfast.inspect(name);
      if (state.kind === "none") return [ok(`"${key}" is free`)];
      if (state.kind === "permit-expirable-semaphore")
        return [warn(`"${key}" is a permit-expirable semaphore`, advice)];
      if (state.kind === "semaphore-or-latch")
        return [warn(`"${key}" is a string, ${state.available}: a semaphore or a latch`, advice)];
      if (!state.holders.every(isHolder)) return [fail(`"${key}" is a hash that is not a lock`, advice)];
      const lease = state.ttlMs < 0 ? "without a TTL" : `for ${tellDuration(state.ttlMs)} more`;
      return [ok(`"${key}" is a ${state.kind.replaceAll("-", " ")}, held ${lease}`)];
    } catch (error) {
      if (!(error instanceof WrongTypeError)) throw error;
      const text =
        error.type === "string" && !isNumber(await redis.get(key)) ? ", as redlock and SET NX write it" : "";
      return [fail(`"${key}" is of another type: ${error.type}${text}`, advice)];
    }
  },
};

function isNumber(text: string | null): boolean {
  return text !== null && /^-?\d+$/.test(text);
}
