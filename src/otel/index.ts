export { type AroundHoldsOptions, aroundHolds } from "./around-holds.js";
export type { HoldfastInstrumentationConfig, MetricGroup } from "./config.js";
export { type FoldNamesOptions, foldNames } from "./fold-names.js";
export { HoldfastInstrumentation } from "./instrumentation.js";
