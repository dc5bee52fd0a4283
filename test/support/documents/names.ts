// What the blocks of the documents and the examples of docstrings use without declaring it: the client of the first page, and what stands
// for a reader's own code. `values.ts` has a value for each name.

import type { AsyncLocalStorage } from "node:async_hooks";
import type { Tracer } from "@opentelemetry/api";
import type { Holdfast as Client, Driver, Lease, Lock } from "holdfast";
import type { Authorize } from "holdfast/inspector";
import type { RunCoordinator } from "holdfast/recipes";
import type { Redis as IoredisClient } from "ioredis";

declare global {
  // Of the package and its clients.
  const Holdfast: typeof Client;
  const Redis: typeof IoredisClient;
  const UnavailableError: typeof import("holdfast").UnavailableError;
  const inspector: typeof import("holdfast/inspector").inspector;
  const ioredisDriver: typeof import("holdfast/ioredis").ioredisDriver;
  const runOnce: typeof import("holdfast/recipes").runOnce;
  const holdfast: Client;
  const lock: Lock;
  const lease: Lease;
  const driver: Driver;
  const redis: IoredisClient;
  const authorize: Authorize;

  // Of test runners and other packages.
  const { expect, test, vi }: typeof import("vitest");
  const { createServer }: typeof import("node:http");
  const { createClient }: typeof import("redis");
  const { registerInstrumentations }: typeof import("@opentelemetry/instrumentation");
  const cron: {
    schedule(expression: string, task: (fire: { readonly date: Date }) => unknown, options?: object): void;
    setRunCoordinator(coordinator: RunCoordinator): void;
  };
  // biome-ignore lint/style/noNamespace: the types of express are in one
  namespace express {
    interface Request {
      readonly user?: { readonly name: string; readonly isOperator: boolean };
    }
  }
  const tracer: Tracer;

  // Addresses and settings.
  const url: string & ((order: Order) => string);
  const host: string;
  const port: number;
  const name: string;
  const nodes: { readonly host: string; readonly port: number }[];
  const sentinels: { readonly host: string; readonly port: number }[];
  const rootNodes: { readonly url: string }[];
  const sentinelRootNodes: { readonly host: string; readonly port: number }[];
  const signal: AbortSignal;

  // The reader's data.
  interface Order {
    readonly id: string;
  }
  interface Quote {
    readonly cents: number;
  }
  interface Invoice {
    readonly id: string;
  }
  interface Message {
    readonly customer: string;
    readonly number: number;
  }
  const order: Order;
  const message: Message;
  const parts: readonly string[];
  const rows: readonly string[];
  const changes: readonly string[];
  const page: string;
  const id: string;
  const file: string;
  const senderId: string;
  const recipientId: string;

  // The reader's functions, and what they run on.
  interface Stoppable {
    readonly signal?: AbortSignal;
  }
  function work(part?: unknown): Promise<void>;
  function lead(lease: Lease): Promise<void>;
  function pay(): Promise<void>;
  function report(options?: Stoppable | { readonly date: Date }): Promise<void>;
  function schedule(token: bigint): Promise<void>;
  function createPool(): object;
  function fetchUser(id: string, options: Stoppable): Promise<string>;
  function isReady(): Promise<boolean>;
  function audit(): Promise<void>;
  function debit(): Promise<void>;
  function credit(): Promise<void>;
  function first(): Promise<void>;
  function second(): Promise<void>;
  function increment(): Promise<void>;
  function load(): Promise<string>;
  function print(page: string): void;
  function show(text: string): void;
  function importFile(file: string): Promise<void>;
  function importBig(file: string): Promise<void>;
  function block(ms: number): void;
  function confirmed(holders: readonly string[]): Promise<boolean>;
  function charge(order: Order, options: Stoppable): Promise<void>;
  function ship(order: string, options: Stoppable): Promise<void>;
  function apply(message: Message, options: Stoppable): Promise<void>;
  function save(value: unknown, options?: Stoppable): Promise<void>;
  function transfer(options: Stoppable): Promise<void>;
  function settle(options: Stoppable): Promise<void>;
  function publish(options: Stoppable): Promise<void>;
  function count(...labels: readonly (string | number | undefined)[]): void;
  function myDriver(client: object): Promise<Driver>;
  const context: AsyncLocalStorage<{ readonly lock?: string }>;
  const log: { warn(event: unknown, text?: string): void };
  const metrics: { gauge(name: string, value: number): void };
  const database: {
    save(value: unknown): Promise<void>;
    query(sql: string, values: readonly string[]): Promise<{ readonly rowCount: number }>;
  };
  const cache: {
    get(id: string): Promise<string | undefined>;
    set(id: string, user: string): Promise<void>;
  };
  const store: {
    lastNumber(customer: string): Promise<number>;
    setLastNumber(customer: string, number: number): Promise<void>;
  };
  const task: { stop(): Promise<void> };
}
