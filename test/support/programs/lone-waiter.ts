import { Holdfast } from "holdfast";
import { MemoryServer, memoryDriver } from "holdfast/memory";
import { settings, tell } from "./orders.js";

/**
 * A program that does nothing but wait for a lock, and that nothing else keeps alive: it takes no orders and has no
 * socket. Says "ready" before it waits and "entered" when it has the lock.
 */
export interface LoneWaiterSettings {
  /** For how long the lock is held by a holder that never releases it. */
  readonly leaseMs: number;
}

const { leaseMs } = settings<LoneWaiterSettings>();
const server = new MemoryServer();
const [holder, waiter] = [new Holdfast(memoryDriver(server)), new Holdfast(memoryDriver(server))];
await holder.getLock("only").lock({ leaseMs });
tell("ready");
const lease = await waiter.getLock("only").lock();
tell("entered", { holder: lease.holder });
