import type { Counter } from "./counter.js";
import { httpCounter } from "./http-counter.js";
import { mariadbCounter } from "./mariadb-counter.js";
import { postgresCounter } from "./postgres-counter.js";
import { redisCounter } from "./redis-counter.js";
import { s3Counter } from "./s3-counter.js";

export type Store = "postgres" | "mariadb" | "redis" | "s3" | "http";

const open = {
  postgres: postgresCounter,
  mariadb: mariadbCounter,
  redis: redisCounter,
  s3: s3Counter,
  http: httpCounter,
} satisfies Record<Store, (port: number, name: string) => Counter>;

export function openCounter(store: Store, port: number, name: string): Counter {
  return open[store](port, name);
}
