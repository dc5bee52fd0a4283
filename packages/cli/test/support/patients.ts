import type { Redis } from "ioredis";
import { afterEach } from "vitest";
import { documentedUser } from "../../../../test/support/servers/documented-rights.js";
import { type RedisServer, startRedis } from "../../../../test/support/servers/redis-server.js";

interface Patient {
  readonly server: RedisServer;
  readonly plain: Redis;
}

/** Servers with which all is well, but for what the arguments say. Each is stopped after its test. */
export interface Patients {
  start(...args: readonly string[]): Promise<Patient>;
  /** Also to be stopped. */
  stopLater(stop: () => Promise<void>): void;
}

export function patients(): Patients {
  const stops: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const stop of stops.splice(0).reverse()) await stop();
  });
  return {
    async start(...args) {
      const server = await startRedis({ args: ["--appendonly", "yes", ...args] });
      stops.push(() => server.stop());
      return { server, plain: server.client() };
    },
    stopLater: (stop) => void stops.push(stop),
  };
}

/** A user with some rights and no others. @returns what lets the command line in */
export async function userWith(plain: Redis, rights: readonly string[]): Promise<NodeJS.ProcessEnv> {
  await plain.call("ACL", "SETUSER", documentedUser.username, ...rights);
  return { HOLDFAST_USER: documentedUser.username, HOLDFAST_PASSWORD: documentedUser.password };
}
