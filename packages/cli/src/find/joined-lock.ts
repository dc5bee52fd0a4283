import type {
  ClientPresence,
  ClientRef,
  Fleet,
  ListedHolder,
  ListedLock,
  ListedWaiter,
  LockState,
} from "holdfast";
import { isWriter, originOf } from "../text/tell-holder.js";

type OfClient<T> = T & { readonly client: ClientRef };
type ClientHold = OfClient<ClientPresence["holds"][number]>;
type Wait = OfClient<ClientPresence["waits"][number]>;

const WRITE = ":write";
/** A client id is a UUID. */
const ID_LENGTH = 36;

/** The result of `inspect` for one lock, joined with the reports of the fleet's clients, in the form of listed locks. */
export function joinedLock(state: LockState, { clients }: Fleet): ListedLock {
  const refs = new Map(clients.map((client) => [client.id, refOf(client)]));
  const told = <T extends { readonly key: string }>(
    of: (client: ClientPresence) => readonly T[],
  ): OfClient<T>[] =>
    clients.flatMap((client) =>
      of(client)
        .filter(({ key }) => key === state.key)
        .map((each) => ({ ...each, client: refs.get(client.id) ?? refOf(client) })),
    );
  const holds = told(({ holds }) => holds);
  const waits = told(({ waits }) => waits).sort((a, b) => b.ageMs - a.ageMs);
  const { name, key, ttlMs, token, listeners } = state;
  return {
    key,
    name,
    kind: kindOf(state.kind, (holds[0] ?? waits[0])?.kind),
    ttlMs,
    token,
    sources: [],
    holders:
      state.available === undefined
        ? holdersOf(state, holds, refs)
        : holds.flatMap((hold) => permitHolder(state, hold) ?? []),
    waiting: waitersOf([...state.queue, ...state.waitingClients], waits, refs),
    more: { holders: 0, waiting: state.waitingClientCount - state.waitingClients.length },
    ...permitCounts(state),
    ...(listeners === undefined ? {} : { listeners }),
  };
}

function refOf({ id, app, host, pid, state, lastSeenMs, labels }: ClientPresence): ClientRef {
  return { id, app, host, pid, state, lastSeenMs, labels };
}

/** @param told the kind that a client reports */
function kindOf(stored: LockState["kind"], told: string | undefined): ListedLock["kind"] {
  if (stored === "semaphore-or-latch") return told === "count-down-latch" ? told : "semaphore";
  return stored === "none" ? "lock" : stored;
}

function holdersOf(
  { holders, holdCounts }: LockState,
  holds: readonly ClientHold[],
  refs: ReadonlyMap<string, ClientRef>,
): ListedHolder[] {
  return holders.map((holder) => {
    const hold = holdOf(holder, holds);
    return {
      holder,
      count: holdCounts[holder] ?? 0,
      by: originOf(holder),
      client: refs.get(holder.slice(0, ID_LENGTH)) ?? null,
      sinceMs: hold?.ageMs ?? null,
      renewed: hold?.renewed ?? null,
      note: hold?.note ?? null,
    };
  });
}

/** If one call of a client has handed the lock to another call of the client, Redis may still store the previous holder. */
function holdOf(holder: string, holds: readonly ClientHold[]): ClientHold | undefined {
  const ofClient = holds.filter(
    ({ client, kind }) => holder.startsWith(client.id) && (kind === "write-lock") === isWriter(holder),
  );
  const exact = ofClient.find(
    ({ client, threadId }) => holder === `${client.id}:${threadId}${isWriter(holder) ? WRITE : ""}`,
  );
  const handedOn = ofClient.filter(({ handedOff }) => handedOff);
  return exact ?? (handedOn.length === 1 ? handedOn[0] : undefined);
}

function permitCounts({
  available,
  taken = [],
  takenCount,
}: LockState): Pick<ListedLock, "available" | "takenCount" | "permanentCount"> {
  if (available === undefined) return {};
  if (takenCount === undefined) return { available };
  return { available, takenCount, permanentCount: taken.filter(({ endsInMs }) => endsInMs < 0).length };
}

/** Undefined if all permits of this hold were given back. */
function permitHolder({ taken = [], takenCount = 0 }: LockState, hold: ClientHold): ListedHolder | undefined {
  const { client, kind, count, ageMs, renewed, note, permanent, ids } = hold;
  const isLeased = kind === "permit-expirable-semaphore";
  const permitIds = ids.flatMap((start) => {
    const [{ id } = { id: "" }, ...others] = taken.filter((permit) => permit.id.startsWith(start));
    return id === "" || others.length > 0 ? [] : [id];
  });
  const isWhole = ids.length === count && taken.length === takenCount;
  if (isLeased && isWhole && permitIds.length === 0) return undefined;
  return {
    holder: client.id,
    count: isLeased && isWhole ? permitIds.length : count,
    by: originOf(client.id),
    client,
    sinceMs: ageMs,
    renewed: permanent ? null : renewed,
    note,
    ...(permanent && { permanent: true }),
    ...(isLeased && { permitIds }),
  };
}

/**
 * If a client has waiters in the queue, its longest waits are assigned to them.
 * @param queue the waiters of a fair lock, or client ids
 * @param waits the longest first
 */
function waitersOf(
  queue: readonly string[],
  waits: readonly Wait[],
  refs: ReadonlyMap<string, ClientRef>,
): ListedWaiter[] {
  const left = [...waits];
  const queued = queue.map((holder) => {
    const id = holder.slice(0, ID_LENGTH);
    const at = left.findIndex(({ client }) => client.id === id);
    const [wait] = at < 0 ? [] : left.splice(at, 1);
    return { holder, client: refs.get(id) ?? null, forMs: wait?.ageMs ?? null, note: wait?.note ?? null };
  });
  return [
    ...queued,
    ...left.map(({ client, ageMs, note }) => ({ holder: null, client, forMs: ageMs, note })),
  ];
}
