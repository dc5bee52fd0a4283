export { FakeClock, type FakeClockOptions } from "./fake-clock.js";
export { memoryDriver } from "./memory-driver.js";
export { MemoryServer, type MemoryServerOptions } from "./memory-server.js";
export type { RefusedCalls } from "./refusals.js";
export type { KeySnapshot, Snapshot } from "./snapshot.js";
