import { delimiter, join } from "node:path";
import type { KindOfLock } from "../programs/kind-of-lock.js";
import { root } from "../tidy/tree.js";
import { Child, type ChildEvent } from "../worlds/child.js";

/** Where scripts/redisson.mjs puts what it builds. */
const built = join(root, "interop/target");
/** The one that Maven builds for. */
const java = process.env["JAVA_HOME"] === undefined ? "java" : join(process.env["JAVA_HOME"], "bin", "java");
/** A JVM that is soon up, and small. */
const jvmArgs = [
  "-XX:TieredStopAtLevel=1",
  "-XX:+UseSerialGC",
  "-Xmx192m",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];

/** The kinds of lock that a JVM has as well. */
export type RedissonKind = Exclude<KindOfLock, "fair read" | "fair write">;

/** Which lock an order is about. */
export interface RedissonLockName {
  readonly kind: RedissonKind;
  readonly name: string;
  /** Of a multi or red lock, the same as our programs make of its name. */
  readonly members?: readonly RedissonLockName[];
}

/** Which semaphore or latch an order is about. */
export interface RedissonSynchronizerName {
  readonly kind: "semaphore" | "permit-expirable-semaphore" | "count-down-latch";
  readonly name: string;
}

/** What an order is about. */
type RedissonName = RedissonLockName | RedissonSynchronizerName;

export interface RedissonSettings {
  /** The servers are nodes of a cluster. */
  readonly cluster?: boolean;
  /** In a cluster: it sends and hears the messages of PUBLISH, not those of SPUBLISH. */
  readonly classic?: boolean;
  readonly watchdogMs?: number;
  /** Put before all names by a name mapper. */
  readonly namePrefix?: string;
}

/** What Redisson has thrown. */
export class RedissonError extends Error {
  override readonly name = "RedissonError";
  /** The class of the exception in Java. */
  readonly type: string;

  constructor(type: string, message: string) {
    super(`${type}: ${message}`);
    this.type = type;
  }
}

/** Starts a JVM with one release of Redisson; see interop/. */
export async function startRedisson(release: string): Promise<Redisson> {
  const classPath = [join(built, "classes"), join(built, `redisson-${release}`, "*")].join(delimiter);
  const child = new Child(java, [...jvmArgs, "-cp", classPath, "holdfast.interop.Peer"]);
  try {
    await child.next("ready");
    return new Redisson(child);
  } catch (error) {
    await child.stop();
    throw error;
  }
}

export class Redisson {
  readonly #child: Child;
  #clients = 0;

  constructor(child: Child) {
    this.#child = child;
  }

  /** What it has written to stderr. */
  get errors(): string {
    return this.#child.errors;
  }

  /** A RedissonClient of its own. */
  async connect(url: string | readonly string[], settings: RedissonSettings = {}): Promise<RedissonClient> {
    this.#clients += 1;
    const client = `client-${this.#clients}`;
    const options = { client, addresses: [url].flat(), ...settings };
    const id = String(await resultOf(this.#child.ask("connect", options)));
    return new RedissonClient(this.#child, client, id);
  }

  /** Stops it where it stands. Resolves when it does. */
  freeze(): Promise<void> {
    return this.#child.freeze();
  }

  thaw(): void {
    this.#child.thaw();
  }

  /** Kills it (SIGKILL). Harmless when it has ended. */
  async stop(): Promise<void> {
    await this.#child.stop();
  }
}

export class RedissonClient {
  /** The first half of its holders. */
  readonly id: string;
  readonly #child: Child;
  readonly #name: string;

  constructor(child: Child, name: string, id: string) {
    this.#child = child;
    this.#name = name;
    this.id = id;
  }

  /** A Java thread that uses this client. */
  thread(name: string): RedissonThread {
    return new RedissonThread(this.#child, this.#name, `${this.#name}-${name}`);
  }

  /** Has HoldfastPresence tell, or leave. */
  async presence(act: "tell" | "leave", group: string, meta: object): Promise<void> {
    const options = { client: this.#name, group, meta: JSON.stringify(meta) };
    await resultOf(this.#child.ask(`${act}Presence`, options));
  }

  async disconnect(): Promise<void> {
    await resultOf(this.#child.ask("disconnect", { client: this.#name }));
  }
}

/** Orders to one thread are obeyed one after the other. */
export class RedissonThread {
  readonly #child: Child;
  readonly #client: string;
  readonly #thread: string;

  constructor(child: Child, client: string, thread: string) {
    this.#child = child;
    this.#client = client;
    this.#thread = thread;
  }

  /** Calls a method of a lock, a semaphore or a latch. Resolves with what it returned. @throws RedissonError */
  call(on: RedissonName, method: string, options: object = {}): Promise<unknown> {
    return resultOf(this.#ask(method, { ...withClient(on, this.#client), ...options }));
  }

  /** The id of the Java thread. */
  async id(): Promise<number> {
    const { threadId } = await this.#ask("isLocked", withClient({ kind: "lock", name: "id" }, this.#client));
    return Number(threadId);
  }

  /** Whether it waits for a message, and would not miss it, or to ask for a spin lock again. */
  async isWaiting(): Promise<boolean> {
    return Boolean(await resultOf(this.#ask("isWaiting", {})));
  }

  /** As `Thread.interrupt()` of what the thread does now. */
  async interrupt(): Promise<void> {
    await this.#ask("interrupt", {});
  }

  #ask(order: string, options: object): Promise<ChildEvent> {
    return this.#child.ask(order, { thread: this.#thread, ...options });
  }
}

function withClient(on: RedissonName, client: string): object {
  if (!("members" in on)) return { ...on, client };
  return { ...on, client, members: on.members.map((member) => withClient(member, client)) };
}

async function resultOf(answer: Promise<ChildEvent>): Promise<unknown> {
  const { event, value, error } = await answer;
  if (event === "done") return value;
  const { name, message } = error as { readonly name: string; readonly message: string };
  throw new RedissonError(name, message);
}
