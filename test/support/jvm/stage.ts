import type { Redis } from "ioredis";
import type { ScriptSource } from "../../../src/protocol/script-call.js";
import type { Actor } from "../../interop/scenarios.js";
import { type KeyJournal, keepJournal } from "../servers/key-journal.js";
import { type RedisServer, startRedis } from "../servers/redis-server.js";
import { release } from "./interop.js";
import { JvmUser } from "./lock-user.js";
import type { RecordingPart, RecordingStage } from "./play-records.js";
import { type Redisson, startRedisson } from "./redisson.js";
import { JvmSynchronizers } from "./synchronizer-user.js";

/** A process with Redisson, and the one thread that is used there. */
interface Part extends RecordingPart {
  readonly redisson: Redisson;
}

/** A server of its own, and a JVM for each actor. */
export class Stage implements RecordingStage {
  readonly parts: ReadonlyMap<Actor, Part>;
  readonly #server: RedisServer;
  readonly #plain: Redis;
  readonly #journal: KeyJournal;

  private constructor(server: RedisServer, journal: KeyJournal, parts: ReadonlyMap<Actor, Part>) {
    this.#server = server;
    this.#plain = server.client();
    this.#journal = journal;
    this.parts = parts;
  }

  static async open(): Promise<Stage> {
    const server = await startRedis();
    const parts = await Promise.all(
      (["A", "B", "C"] as const).map(async (actor) => {
        const redisson = await startRedisson(release);
        const user = await JvmUser.of(await redisson.connect(server.url));
        return [actor, { redisson, user, synchronizers: new JvmSynchronizers(user) }] as const;
      }),
    );
    return new Stage(server, await keepJournal(server), new Map(parts));
  }

  raw(command: string, ...args: readonly (string | number)[]): Promise<unknown> {
    return this.#plain.call(command, ...args);
  }

  evaluate({ lua }: ScriptSource, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    return this.#plain.eval(lua, keys.length, ...keys, ...args);
  }

  keys(): Promise<readonly string[]> {
    return this.#plain.keys("*");
  }

  /** What was published since the last look, as `message -> channel`. */
  messages(): Promise<readonly string[]> {
    return this.#journal.read();
  }

  /** Forgets all keys and messages. */
  async clear(): Promise<void> {
    await this.#plain.flushall();
    await this.#journal.read();
  }

  async close(): Promise<void> {
    await Promise.all([...this.parts.values()].map(({ redisson }) => redisson.stop()));
    await this.#server.stop();
  }
}
