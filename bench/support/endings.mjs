/** @type {Set<() => void>} */
const endings = new Set();

process.on("exit", () => {
  // A server before the folder that it writes into.
  for (const end of [...endings].reverse()) end();
});
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.once(signal, () => process.exit(1));

/**
 * What must not outlive this process, however that ends.
 *
 * @param {() => void} end
 * @returns {() => void} says that it has ended by itself
 */
export function whenWeEnd(end) {
  endings.add(end);
  return () => void endings.delete(end);
}
