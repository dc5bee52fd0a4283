/** A number in a store, which is counted up by reading it and writing one more. */
export interface Counter {
  value(): Promise<number>;
  /** With the guard: the check comes with the read, and again with the write. `between` passes between the two. */
  add(token: bigint, between?: Between): Promise<void>;
  /** The same without: what is written last stands. */
  addUnguarded(between?: Between): Promise<void>;
  /** Lets go of its connections. */
  close(): Promise<void>;
}

/** Of a database that has transactions. */
export interface TransactionCounter extends Counter {
  /** With the guard, once: the read and the write are in the transaction that it opens. */
  addInOne(token: bigint, between?: Between): Promise<void>;
}

/** Is given what was read. */
export type Between = (value: number) => Promise<void>;

export const atOnce: Between = async () => {};
