/**
 * Milliseconds on the clock that all processes of one machine share and that nobody sets, so that what several of
 * them note can be put in order.
 */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1_000n) / 1_000;
}
