// @ts-check
/** Stands for the runtime of Lambda in an environment: takes one event after the other, and answers each. `node runtime.mjs handler.mjs` */
const { handler } = await import(new URL(String(process.argv[2]), import.meta.url).href);

process.on("message", async (/** @type {{ event: unknown, timeoutMs: number }} */ { event, timeoutMs }) => {
  const endMs = performance.now() + timeoutMs;
  const context = { getRemainingTimeInMillis: () => Math.floor(endMs - performance.now()) };
  try {
    process.send?.({ answer: await handler(event, context) });
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});
process.once("disconnect", () => process.exit());
process.send?.("ready");
