export { Locked, type LockedMethodOptions, RunOnce, type RunOnceMethodOptions } from "./decorators.js";
export { HoldfastExceptionFilter } from "./exception-filter.js";
export { HoldfastInspectorModule, type HoldfastInspectorOptions } from "./inspector-module.js";
export {
  type FeatureLockKind as LockKind,
  HoldfastModule,
  InjectHoldfast,
  InjectLock,
  type LockFeature,
} from "./module.js";
export type {
  ConnectedOptions,
  GivenOptions,
  HoldfastModuleExtras,
  HoldfastModuleOptions,
} from "./options.js";
export { getHoldfastToken, getLockToken } from "./tokens.js";
