import { afterAll, afterEach, beforeAll } from "vitest";
import type { Counter } from "../../examples/fencing/test/counter.js";
import type { DatabaseServer } from "../support/servers/database-process.js";

/** A server for all tests of a file, with counters that are closed after each test. */
export interface TestedStore<Own extends Counter> {
  readonly port: number;
  /** One that no test has used. */
  freshName(): string;
  counter(name: string, port?: number): Own;
}

export interface StoreKind<Own extends Counter> {
  start(): Promise<DatabaseServer>;
  /** Makes what the store needs before the first write, such as tables. */
  prepare?(port: number): Promise<void>;
  open(port: number, name: string): Own;
}

/** To be called once in a file. */
export function testedStore<Own extends Counter>({ start, prepare, open }: StoreKind<Own>): TestedStore<Own> {
  let server: DatabaseServer | undefined;
  let names = 0;
  const opened: Own[] = [];
  const port = () => {
    if (server === undefined) throw new Error("the server starts before the first test, not earlier");
    return server.port;
  };
  beforeAll(async () => {
    server = await start();
    await prepare?.(server.port);
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((counter) => counter.close()));
  });
  afterAll(() => server?.stop());
  return {
    get port() {
      return port();
    },
    freshName() {
      names += 1;
      return `counter:${names}`;
    },
    counter(name, where = port()) {
      const counter = open(where, name);
      opened.push(counter);
      return counter;
    },
  };
}
