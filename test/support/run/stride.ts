/**
 * Of what could be played at each of many moments `npm test` plays every so manieth, and `npm run test:long` all.
 *
 * @param usual how many are gone on by
 */
export function strideOf(usual: number): number {
  return Number(process.env["HOLDFAST_STRIDE"] ?? usual);
}
