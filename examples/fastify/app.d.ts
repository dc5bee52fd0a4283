import type { Holdfast } from "holdfast";
import type { Redis } from "ioredis";

/** What the plugin of locks.mjs adds to the application. */
declare module "fastify" {
  interface FastifyInstance {
    holdfast: Holdfast;
    redis: Redis;
  }
}
