import { types } from "node:util";
import type { Holdfast, LockState } from "../index.js";
import { NotLookedAt, NotToBeFreed } from "./denials.js";
import type { Picture } from "./picture.js";

/** Reads a listed lock right before it is changed. A key that is not listed might not belong to a lock. */
export async function lookAgain(
  holdfast: Holdfast,
  picture: Picture,
  key: string,
  find: (name: string) => Promise<LockState> = () => Promise.reject(nameIsNotKnown()),
): Promise<LockState> {
  const name = picture.nameOf(key);
  if (name === undefined) throw new NotToBeFreed("no lock with this key is known");
  try {
    const state = await holdfast.inspect(name);
    return state.key === key ? state : await find(name);
  } catch (error) {
    if (error instanceof NotToBeFreed) throw error;
    throw new NotLookedAt(types.isNativeError(error) ? error.message : String(error), { cause: error });
  }
}

export function nameIsNotKnown(): NotToBeFreed {
  return new NotToBeFreed("its name is not known: the nameMapper of this client does more than add a prefix");
}
