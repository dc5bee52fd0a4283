import { beforeEach } from "vitest";

/** What tests against the real Redisson prove; scripts/interop-page.mjs makes a table of it. */
export interface Proof {
  /** The name of a kind of lock, semaphore or latch. */
  readonly kind: string;
  readonly direction: "a JVM holds, Node waits" | "Node holds, a JVM waits" | "both";
  readonly of:
    | "exclusion"
    | "questions"
    | "force"
    | "watchdog"
    | "queue"
    | "names"
    | "mapper"
    | "tokens"
    | "changes"
    | "ids"
    | "leases"
    | "stress"
    | "cluster";
}

declare module "vitest" {
  interface TaskMeta {
    proofs?: Proof[];
  }
}

/** To be called in a `describe`: what its tests prove. */
export function proves(proof: Proof): void {
  beforeEach(({ task }) => {
    task.meta.proofs = [...(task.meta.proofs ?? []), proof];
  });
}
