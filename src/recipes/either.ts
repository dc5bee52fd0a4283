import { reasonOf } from "../runtime/abort-signals.js";

/**
 * A signal that aborts with the first of two signals, and with its reason, until it is ended. It accepts signals of other realms, which
 * `AbortSignal.any` refuses.
 */
export function either(
  one: AbortSignal | undefined,
  other: AbortSignal,
): { readonly signal: AbortSignal; readonly end: () => void } {
  const controller = new AbortController();
  const sources = one === undefined ? [other] : [one, other];
  const end = () => {
    for (const source of sources) source.removeEventListener("abort", abort);
  };
  const abort = () => {
    end();
    const first = sources.find(({ aborted }) => aborted) ?? other;
    controller.abort(reasonOf(first));
  };
  for (const source of sources) source.addEventListener("abort", abort);
  if (sources.some(({ aborted }) => aborted)) abort();
  return { signal: controller.signal, end };
}
