/** What we use of redlock 4, which comes without types. */
declare module "redlock4" {
  import type { Redis } from "ioredis";

  export interface Lock {
    /** Epoch milliseconds. */
    readonly expiration: number;
    unlock(): Promise<void>;
  }

  export default class Redlock {
    constructor(
      clients: readonly Redis[],
      options: { readonly retryCount?: number; readonly retryDelay?: number; readonly retryJitter?: number },
    );
    acquire(name: string, ttlMs: number): Promise<Lock>;
  }
}
