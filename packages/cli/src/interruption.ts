const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Runs work that ends only from outside: by Ctrl-C, or by a signal that asks the process to end.
 * @returns undefined if one of these signals ended the work
 */
export async function untilInterrupted<T>(
  work: (signal: AbortSignal, end: () => void) => Promise<T>,
): Promise<T | undefined> {
  const controller = new AbortController();
  const end = () => controller.abort();
  for (const signal of SIGNALS) process.on(signal, end);
  try {
    return await work(controller.signal, end);
  } catch (error) {
    if (!controller.signal.aborted) throw error;
    return undefined;
  } finally {
    for (const signal of SIGNALS) process.off(signal, end);
  }
}
