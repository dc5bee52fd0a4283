/**
 * What a worker process runs: it connects to the server it is told, does one job after the other, and ends when it is
 * told to or when the demo is gone.
 */

import type { Driver } from "holdfast";
import { ioredisDriver } from "holdfast/ioredis";
import type { Redis } from "ioredis";
import type { Stock } from "../tasks/task.js";
import { CuttableDriver } from "./cuttable-driver.js";
import { asError } from "./failure.js";
import { GoAheads } from "./go-aheads.js";
import { perform } from "./perform.js";
import type { Answer, Command } from "./process-message.js";
import { connectRedis } from "./redis-connection.js";
import { RedisStock } from "./redis-stock.js";
import { RelayedServer } from "./relayed-server.js";
import type { Order } from "./worker.js";

/** The server that it was told to use. */
interface Server {
  readonly stock: Stock;
  /** For one client. */
  driver(): Driver;
}

let redis: Redis | undefined;
let server: Server | undefined;
let prefix = "";
let driver: CuttableDriver | undefined;
const relayed = new RelayedServer((id, request) => tell({ say: "relay", id, request }));
let goAheads = new GoAheads();

// Ctrl-C reaches all processes of a terminal at once; the demo ends its workers itself.
process.on("SIGINT", () => undefined);
process.on("disconnect", () => process.exit());
process.on("message", (command) => obey(command as Command));

function obey(command: Command): void {
  switch (command.say) {
    case "connect":
      prefix = command.prefix;
      answerWith(connect(command.url), () => ({ say: "ready" }));
      break;
    case "work":
      answerWith(work(command.order), (result) => ({ say: "done", result }));
      break;
    case "go on":
      goAheads.give();
      break;
    case "cut":
      driver?.cut();
      tell({ say: "cut off" });
      break;
    case "relayed":
      relayed.hear(command.news);
      break;
    case "end":
      redis?.disconnect();
      process.exit();
      break;
    default:
      command satisfies never;
  }
}

async function connect(url: string | undefined): Promise<void> {
  if (url === undefined) {
    server = relayed;
    return;
  }
  const connected = await connectRedis(url);
  redis = connected;
  server = { stock: new RedisStock(connected, prefix), driver: () => ioredisDriver(connected) };
}

async function work(order: Order): Promise<unknown> {
  if (server === undefined) throw new Error("not connected");
  goAheads = new GoAheads();
  driver = new CuttableDriver(server.driver());
  return perform(order, {
    driver,
    stock: server.stock,
    prefix,
    report: (report) => tell({ say: "report", report }),
    told: () => goAheads.wait(),
  });
}

function answerWith<T>(work: Promise<T>, answer: (result: T) => Answer): void {
  work.then(
    (result) => tell(answer(result)),
    (error: unknown) => tell({ say: "failed", message: asError(error).message }),
  );
}

function tell(answer: Answer): void {
  if (process.connected) process.send?.(answer);
}
