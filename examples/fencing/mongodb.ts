import type { FencedLock } from "holdfast";
import { type Collection, MongoServerError } from "mongodb";
import { StaleTokenError } from "./stale-token-error.js";

export interface Account {
  readonly _id: string;
  /** A Long in the store, which the driver makes of a bigint. */
  readonly fence: bigint;
  readonly cents?: number;
}

const DUPLICATE_KEY = 11_000;

/** Raises the fence and reads the document in one step. Creates the document where there is none. */
export async function claim(accounts: Collection<Account>, id: string, token: bigint): Promise<Account> {
  const raise = (upsert: boolean) =>
    accounts.findOneAndUpdate(
      { _id: id, fence: { $lte: token } },
      { $set: { fence: token } },
      { upsert, returnDocument: "after", writeConcern: { w: "majority" } },
    );
  // A duplicate key says that there is a document: with a later token, or made just now. The second try tells which.
  const claimed = await raise(true).catch((error: unknown) => {
    if (error instanceof MongoServerError && error.code === DUPLICATE_KEY) return raise(false);
    throw error;
  });
  if (claimed === null) throw new StaleTokenError(id, token);
  return claimed;
}

/** Writes what was worked out from a document that this token has claimed. */
export async function write(
  accounts: Collection<Account>,
  id: string,
  token: bigint,
  cents: number,
): Promise<void> {
  const { matchedCount } = await accounts.updateOne(
    { _id: id, fence: token },
    { $set: { cents } },
    { writeConcern: { w: "majority" } },
  );
  if (matchedCount === 0) throw new StaleTokenError(id, token);
}

export async function deposit(lock: FencedLock, accounts: Collection<Account>, cents: number): Promise<void> {
  await lock.using(async ({ token }) => {
    const { cents: before = 0 } = await claim(accounts, "account:7", token);
    await write(accounts, "account:7", token, before + cents);
  });
}
