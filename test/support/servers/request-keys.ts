/**
 * True for the keys in which a client's answers to calls of synchronizers are kept, in case the calls come again, and those that
 * say that for a while nothing is saved up. They fall by themselves; every other key is to be gone when a test ends.
 */
export function isRequestKey(key: string): boolean {
  return key.startsWith("holdfast_req:") || key.startsWith("holdfast_sc_saved:");
}
