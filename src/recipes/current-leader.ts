import type { ClientPresence, Holdfast } from "../index.js";

/** Who is the leader, as Redis has it. */
export interface CurrentLeader {
  /** As stored in Redis. */
  readonly holder: string;
  readonly token: bigint | null;
  /** Its process, where that has presence; null otherwise. */
  readonly client: ClientPresence | null;
}

/** Asks Redis and presence who has the office. @throws as `inspect` and `fleet` of a client */
export async function currentLeader(holdfast: Holdfast, name: string): Promise<CurrentLeader | null> {
  const [{ holders, token, kept }, { clients }] = await Promise.all([
    holdfast.inspect(name),
    holdfast.fleet(),
  ]);
  const [holder] = holders;
  if (holder === undefined || kept) return null;
  return { holder, token, client: clients.find(({ id }) => holder.startsWith(`${id}:`)) ?? null };
}
