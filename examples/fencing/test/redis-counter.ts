import { Redis } from "ioredis";
import { fenced } from "../redis.js";
import { atOnce, type Counter } from "./counter.js";

export function redisCounter(port: number, name: string): Counter {
  const redis = new Redis({ host: "127.0.0.1", port });
  const value = async () => Number(await redis.get(`{${name}}`));
  return {
    value,
    async add(token, between = atOnce) {
      const before = Number(await fenced(redis, name, token, "GET"));
      await between(before);
      await fenced(redis, name, token, "SET", `${before + 1}`);
    },
    async addUnguarded(between = atOnce) {
      const before = await value();
      await between(before);
      await redis.set(`{${name}}`, before + 1);
    },
    close: async () => redis.disconnect(),
  };
}
