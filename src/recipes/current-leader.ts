import type { ClientPresence, Holdfast } from "../index.js";

/** The leader, as Redis stores it. */
export interface CurrentLeader {
  /** As stored in Redis. */
  readonly holder: string;
  readonly token: bigint | null;
  /** Its process, if that has presence; otherwise null. */
  readonly client: ClientPresence | null;
}

/**
 * Asks Redis and presence for the present leader.
 * @throws as `inspect` and `fleet` of a client
 * @example const { holder } = (await currentLeader(holdfast, "scheduler")) ?? {};
 */
export async function currentLeader(holdfast: Holdfast, name: string): Promise<CurrentLeader | null> {
  const [{ holders, token, kept }, { clients }] = await Promise.all([
    holdfast.inspect(name),
    holdfast.fleet(),
  ]);
  const [holder] = holders;
  if (holder === undefined || kept) return null;
  return { holder, token, client: clients.find(({ id }) => holder.startsWith(`${id}:`)) ?? null };
}
