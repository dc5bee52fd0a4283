import type { Stream } from "../chooser/chooser.js";
import { oneIn, pick } from "../draw.js";
import type { JvmClient } from "../jvm/jvm-client.js";
import type { JvmLockKind } from "../jvm/jvm-lock-kinds.js";
import type { SimProcess } from "../world/sim-process.js";
import type { SimServer } from "../world/sim-server.js";
import type { Shared } from "./family.js";
import type { Scene } from "./member.js";

/** A thread of a JVM that takes part in a run. */
export interface JvmThread {
  readonly jvm: JvmClient;
  readonly process: SimProcess;
  readonly server: SimServer;
  readonly scene: Scene;
  readonly stream: Stream;
  readonly threadId: number;
  /** For how long it has a lock. */
  readonly holdsMs: readonly [number, ...number[]];
}

/** As Redisson calls those kinds which it has as well. */
const KINDS_OF_JVM: Readonly<Record<string, readonly [JvmLockKind, ...JvmLockKind[]]>> = {
  lock: ["lock"],
  "non-reentrant": ["non-reentrant"],
  fair: ["fair"],
  "non-reentrant fair": ["non-reentrant fair"],
  spin: ["spin"],
  fenced: ["fenced"],
  "read-write": ["read", "write"],
};

/** Those of what a run is about that a JVM can take. */
export function forJvm(shared: readonly Shared[]): readonly Shared[] {
  return shared.filter(({ kind }) => kind in KINDS_OF_JVM);
}

/** One step of a thread: it takes a lock and gives it back. What it is told is Redisson's business, what it has is ours. */
export async function jvmStep(thread: JvmThread, { kind, name }: Shared): Promise<void> {
  const { jvm, process, stream, scene, threadId } = thread;
  const kinds = KINDS_OF_JVM[kind];
  if (kinds === undefined) return;
  const jvmKind = pick(stream, kinds);
  const waitMs = oneIn(stream, 3) ? pick(stream, [100, 0, 2_000]) : undefined;
  const leaseMs = oneIn(stream, 3) ? pick(stream, [3_000, 400]) : undefined;
  const title = `thread ${threadId}: ${jvmKind} "${name}"`;
  scene.history.add(process.name, `${title}: lock`);
  try {
    const times = {
      ...(waitMs === undefined ? {} : { waitMs }),
      ...(leaseMs === undefined ? {} : { leaseMs }),
    };
    const isHeld = await jvm.lock(name, jvmKind, { threadId, ...times });
    if (!isHeld) return;
    const lease = believe(thread, { jvmKind, name, title });
    await new Promise<void>((resolve) => process.clock.schedule(pick(stream, thread.holdsMs), resolve));
    scene.checker.left(lease);
    await jvm.unlock(name, jvmKind, threadId);
  } catch (error) {
    scene.history.add(process.name, `${title}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** A JVM has what Redis says that it has: see {@link JvmClient}. */
function believe(
  { jvm, process, server, scene, threadId }: JvmThread,
  { jvmKind, name, title }: { readonly jvmKind: JvmLockKind; readonly name: string; readonly title: string },
): object {
  const lease = {};
  const field = jvm.fieldOf(jvmKind, threadId);
  scene.checker.entered({
    process,
    lease,
    kind: jvmKind,
    label: title,
    startUs: scene.nowUs(),
    parts: [{ name, owners: [`${jvm.id}:${threadId}`], mode: jvmKind === "read" ? "shared" : "exclusive" }],
    leftMs: () => (server.command("HEXISTS", name, field) === 1 ? Number.POSITIVE_INFINITY : 0),
  });
  return lease;
}
