import { setTimeout as pause } from "node:timers/promises";
import { Holdfast, HoldfastError, type HoldfastOptions, type Lease, LeaseLostError } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import { nowUs, type Tally, type Visit } from "../worlds/visits.js";
import { type KindOfLock, lockOfKind } from "./kind-of-lock.js";
import { describe, obey, settings, tell } from "./orders.js";
import { connectTo, type Place } from "./place.js";

/**
 * A process that goes in and out of locks, whatever becomes of their server, and writes down when it believed to have them.
 * Says "ready" when it has connected, and "lost" when the signal of a lease aborts.
 */
export interface LockVisitorSettings extends Room {
  readonly at: Place;
  /** Further locks, which it visits side by side with the first. */
  readonly also?: readonly Room[];
  /** What its visits are called by. */
  readonly who: string;
  readonly options?: Omit<HoldfastOptions, "clock" | "nameMapper">;
  /** How far the clock on its wall is ahead. */
  readonly wallAheadMs?: number;
}

/** Something that lets one in at a time, or readers together. */
export interface Room {
  /** Its name. */
  readonly lock: string;
  /**
   * `semaphore` and `permit` are for semaphores that have one permit, `nothing` shows what goes wrong without a lock. Default:
   * a plain lock.
   */
  readonly kind?: KindOfLock | "semaphore" | "permit" | "nothing";
}

/** What it was let in by. */
interface Pass {
  /** Not there where nothing can be lost. */
  readonly lease?: Pick<Lease, "state" | "signal" | "remainingMs">;
  leave(): Promise<void>;
}

/** How long a visit takes, and as long is the pause to the next. */
const STAY_MS = 5;
/** Between two looks at a lease. */
const LOOK_MS = 1;

const { at, lock, kind, also = [], who, options = {}, wallAheadMs = 0 } = settings<LockVisitorSettings>();
const rooms: readonly Room[] = [{ lock, ...(kind && { kind }) }, ...also];
const wallMs = Date.now;
Date.now = () => wallMs() + wallAheadMs;

const redis = connectTo(at);
redis.on("error", () => undefined);
const holdfast = new Holdfast(ioredisDriver(redis), options);

/** What it has written down since it was last asked. */
let notes = blankNotes();
/** Told of each visit that begins. */
const watching = new Set<(visit: Visit) => void>();
/** Those that it goes in and out of, until it rests. */
let visited: readonly Room[] = [];
let resting = true;
let underWay: Promise<void>[] = [];
/** What it was told to hold, by name. */
const held = new Map<string, Held>();

interface Held {
  readonly lease: Pass["lease"];
  readonly leaving: AbortController;
  readonly visit: Promise<void>;
}

function blankNotes() {
  return { visits: [] as Visit[], refused: {} as Tally, unreleased: {} as Tally, lost: {} as Tally };
}

/** Waits until it is let in. */
async function enter({ lock: name, kind = "lock" }: Room, { leaseMs }: Taking): Promise<Pass> {
  const fixed = leaseMs === undefined ? {} : { leaseMs };
  switch (kind) {
    case "nothing":
      return { leave: async () => undefined };
    case "semaphore": {
      const semaphore = holdfast.getSemaphore(name);
      await semaphore.acquire();
      return { leave: () => semaphore.release() };
    }
    case "permit": {
      const renewed = { watchdog: leaseMs === undefined, ...fixed };
      const lease = await holdfast.getPermitExpirableSemaphore(name).acquire(renewed);
      return { lease, leave: () => lease.release() };
    }
    default: {
      const lease = await lockOfKind(holdfast, kind, name).lock(fixed);
      return { lease, leave: () => lease.unlock() };
    }
  }
}

/** Is inside until that is over or what let it in is lost, and then leaves. */
async function visit(room: Room, { lease, leave }: Pass, isOver: () => boolean): Promise<void> {
  lease?.signal.addEventListener("abort", () => {
    const { reason } = lease.signal;
    count("lost", reason instanceof LeaseLostError ? reason.reason : String(reason));
    tell("lost", { lock: room.lock, error: describe(reason) });
  });
  const isHeld = () => lease === undefined || lease.state === "held";
  const shared = room.kind === "read" || room.kind === "fair read";
  const sinceUs = nowUs();
  if (isHeld()) {
    const now = { who, name: room.lock, shared, sinceUs, untilUs: sinceUs };
    notes.visits.push(now);
    for (const watch of watching) watch(now);
    while (!isOver()) {
      await pause(LOOK_MS);
      // It believes so after this moment, and so at it.
      const lookedUs = nowUs();
      if (!isHeld()) break;
      now.untilUs = lookedUs;
    }
  }
  await leave().catch((error: unknown) => count("unreleased", codeOf(error)));
}

/** Goes in and out until it is to rest. */
async function goOn(room: Room, taking: Taking): Promise<void> {
  while (!resting) {
    try {
      const pass = await enter(room, taking);
      const endMs = performance.now() + STAY_MS;
      await visit(room, pass, () => resting || performance.now() >= endMs);
    } catch (error) {
      count("refused", codeOf(error));
    }
    await pause(STAY_MS);
  }
}

function count(note: "refused" | "unreleased" | "lost", what: string): void {
  notes[note] = { ...notes[note], [what]: (notes[note][what] ?? 0) + 1 };
}

function codeOf(error: unknown): string {
  return error instanceof HoldfastError ? error.code : String(error);
}

/** Ends all visits. Resolves with what it has written down, and forgets that. */
async function rest(): Promise<object> {
  resting = true;
  for (const { leaving } of held.values()) leaving.abort();
  await Promise.all([...underWay, ...[...held.values()].map(({ visit: going }) => going)]);
  held.clear();
  const written = notes;
  notes = blankNotes();
  return written;
}

/** How something is taken. */
interface Taking {
  /** A fixed lease. Default: one that the watchdog renews. */
  readonly leaseMs?: number;
}

/** Which of its rooms an order is about. Default: the first. */
interface About {
  readonly lock?: string;
}

function roomOf({ lock: wanted = lock }: About): Room {
  const room = rooms.find(({ lock: name }) => name === wanted);
  if (room === undefined) throw new TypeError(`it knows no "${wanted}"`);
  return room;
}

function state({ lock: wanted = lock }: About): object {
  const { lease } = held.get(wanted) ?? {};
  if (lease === undefined) return { state: "none" };
  return { state: lease.state, aborted: lease.signal.aborted, remainingMs: lease.remainingMs() };
}

const stopListening = obey({
  /** Answers at once, and goes in and out of those, by default of all that it knows, until "rest" or "stop". */
  visit: ({ locks, ...taking }: Taking & { readonly locks?: readonly string[] }) => {
    visited = locks?.map((name) => roomOf({ lock: name })) ?? rooms;
    resting = false;
    underWay = visited.map((room) => goOn(room, taking));
    return { event: "visiting" };
  },
  /** Answers when the next visit of each that it goes in and out of has begun, with the last of them. */
  awaitVisit: async () => {
    const missing = new Set(visited.map((room) => room.lock));
    const last = await new Promise<Visit>((resolve) => {
      const watch = (begun: Visit) => {
        missing.delete(begun.name);
        if (missing.size > 0) return;
        watching.delete(watch);
        resolve(begun);
      };
      watching.add(watch);
    });
    return { event: "visited", visit: { ...last } };
  },
  /** Answers when it is in, and stays there until "leave", "rest" or "stop". */
  hold: async (about: About & Taking) => {
    const room = roomOf(about);
    const pass = await enter(room, about);
    const leaving = new AbortController();
    const going = visit(room, pass, () => leaving.signal.aborted);
    held.set(room.lock, { lease: pass.lease, leaving, visit: going });
    return { event: "held", ...state(about) };
  },
  /** Answers when it has left. */
  leave: async ({ lock: wanted = lock }: About) => {
    const { leaving, visit: going } = held.get(wanted) ?? {};
    leaving?.abort();
    await going;
    return { event: "left" };
  },
  /** Of what it was told to hold. */
  state: (about: About) => ({ event: "state", ...state(about) }),
  /** Ends all visits. Answers with what it has written down since it last did. */
  rest: async () => ({ event: "rested", ...(await rest()) }),
  /** The same, and closes everything before it answers; then ends. */
  stop: async () => {
    const written = await rest();
    await holdfast.close();
    stopListening();
    redis.disconnect();
    return { event: "stopped", ...written };
  },
});

await redis.ping();
tell("ready");
