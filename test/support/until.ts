/**
 * Looks again in each turn of the event loop until the condition holds, where nobody tells a test that it does.
 * Bounded by the timeout of the test. Never to be used for something that an event or a promise tells.
 */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate);
}
