export type { BusyOptions, OnBusy } from "./busy.js";
export { type CronCoordinatorOptions, cronCoordinator, type RunCoordinator } from "./cron-coordinator.js";
export { type CurrentLeader, currentLeader } from "./current-leader.js";
export type { FireTime } from "./fires.js";
export { type LeaderOptions, leader } from "./leader.js";
export { type LockedMethod, type LockedOptions, locked } from "./locked.js";
export { type Once, type RunOnceOptions, runOnce } from "./run-once.js";
export { type SingleFlightOptions, singleFlight } from "./single-flight.js";
export type { Term } from "./term.js";
