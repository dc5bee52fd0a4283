/** Whether every client is to be tried on every topology: `npm run test:topologies`, not `npm test`. */
export const allPairs: boolean = process.env["HOLDFAST_PAIRS"] === "all";
