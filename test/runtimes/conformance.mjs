/** The published cases of a driver, without a test runner. */
import process from "node:process";
import { conformanceCases, missingAbilities } from "holdfast/driver-test";
import { ioredisDriver } from "holdfast/ioredis";
import { Redis } from "ioredis";

const url = process.env.REDIS_URL;
const CASE_MS = 20_000;
const admin = new Redis(url);
const clients = new Map();
const harness = {
  connect: async () => {
    const client = new Redis(url, { retryStrategy: () => 5, disconnectTimeout: 10 });
    client.on("error", () => undefined);
    const driver = ioredisDriver(client);
    clients.set(driver, client);
    return driver;
  },
  countsReceivers: true,
  keepsOrder: true,
  masters: 1,
  endClient: async (driver) => {
    const client = clients.get(driver);
    const ended = new Promise((resolve) => client.once("end", resolve));
    client.disconnect();
    await ended;
  },
  flushScripts: () => admin.script("FLUSH"),
  cutSubscriber: () => admin.client("KILL", "TYPE", "pubsub"),
};

let passed = 0;
const left = [];
const failed = [];
for (const one of conformanceCases) {
  const missing = missingAbilities(one, harness);
  if (missing.length > 0) left.push(...missing);
  else {
    try {
      await inTime(one.run(harness));
      passed += 1;
    } catch (error) {
      failed.push(`${one.name}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  for (const client of clients.values()) client.disconnect();
  clients.clear();
}
admin.disconnect();
console.log(JSON.stringify({ passed, failed, notApplicable: [...new Set(left)].sort() }));
process.exitCode = failed.length === 0 ? 0 : 1;

function inTime(promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not within ${CASE_MS} ms`)), CASE_MS);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
