import { LeaseLostError } from "../../../src/errors.js";
import { believedMs, type Lease } from "../../../src/lease.js";
import type { Caller } from "./caller.js";

/** Milliseconds by which two readings of one moment may differ. */
const GRAIN_MS = 0.01;

/** Asks a lease all that it tells: it agrees with what it is believed by. */
export function readLease(caller: Caller, lease: Lease): void {
  const { process } = caller.member;
  const { nowUs } = process;
  const believed = believedMs(lease, process.instant);
  const { state } = lease;
  const remainingMs = lease.remainingMs();
  const denial = denialOf(lease);
  if (denial instanceof LeaseLostError) caller.scene.losses.toldBy(lease, denial);
  const asserts = denial === undefined;
  caller.say(`sees ${state}, ${remainingMs} ms`);
  // It was stopped in the midst, or just before.
  if (process.nowUs !== nowUs || caller.scene.nowUs() !== nowUs) return;
  const isHeld = believed > 0;
  const agree = (state === "held") === isHeld && asserts === isHeld;
  if (agree && Math.abs(remainingMs - believed) <= GRAIN_MS) return;
  const told = `${state}, with ${remainingMs} ms left, and assertHeld ${asserts ? "passes" : "throws"}`;
  caller.scene.checker.fail(
    "truth",
    `${caller.name}: a lease tells ${told}, but is believed for ${believed} ms`,
  );
}

function denialOf(lease: Lease): unknown {
  try {
    lease.assertHeld();
    return undefined;
  } catch (error) {
    return error;
  }
}
