import type { RepeatableRequest } from "../../../src/protocol/count-scripts.js";

let requests = 0;

/** A request that no other one has the id of, and that is in time. */
export function newRequest(): RepeatableRequest {
  requests += 1;
  const notAfterMs = Number.MAX_SAFE_INTEGER;
  return { requests: "requests", id: String(requests), notAfterMs, memoryMs: 60_000, settled: [] };
}

/** What one is told who wants more permits than there are. */
export const short = (available: number, moreMs: number, saving: number, exists: number) => ({
  status: "short",
  available,
  moreMs,
  saving,
  exists,
});
