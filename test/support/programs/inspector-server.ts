import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Holdfast } from "holdfast";
import { inspector } from "holdfast/inspector";
import { ioredisDriver } from "holdfast/ioredis";
import { obey, settings, tell } from "./orders.js";
import { connectTo, type Place } from "./place.js";

/** A process that does nothing but serve the page of the locks. Says "serving" with its port, and then "ready". */
export interface InspectorServerSettings {
  readonly at: Place;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const { at } = settings<InspectorServerSettings>();
const holdfast = new Holdfast(ioredisDriver(connectTo(at)));
const locks = inspector(holdfast, { authorize: () => ({ role: "operate", actor: "ada" }) });
const server = createServer(locks.node);
server.listen(0, "127.0.0.1", () => {
  tell("serving", { port: (server.address() as AddressInfo).port });
  tell("ready");
});

obey({
  /** What is in use after a collection of garbage, in bytes, and the processor time so far, in milliseconds. */
  usage: () => {
    for (let times = 0; times < 3; times += 1) collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    return { event: "usage", heapBytes: heapUsed + arrayBuffers, cpuMs: (user + system) / 1_000 };
  },
});
