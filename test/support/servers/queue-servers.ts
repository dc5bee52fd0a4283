import { setImmediate as turn } from "node:timers/promises";
import { MemoryServer } from "../../../src/memory/index.js";
import type { Script } from "../../../src/protocol/define-script.js";
import type { RawReply } from "../../../src/protocol/script-call.js";
import { workerServer } from "./worker-server.js";

/** A server on which scripts are run one by one, with listeners that come and go. */
export interface QueueServer {
  raw(command: string, ...args: readonly (string | number)[]): Promise<RawReply>;
  run<Input, Reply>(script: Script<Input, Reply>, input: Input): Promise<Reply>;
  /** Somebody listens to these channels from now on, and to no others. */
  listen(...channels: readonly string[]): Promise<void>;
  /** What the listeners heard since this was last asked: `<channel> <message>`. */
  heard(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export const queueServers: readonly { readonly name: string; open(): Promise<QueueServer> }[] = [
  { name: "redis-server", open: openRedis },
  { name: "the embedded server", open: openMemory },
];

async function openRedis(): Promise<QueueServer> {
  const server = await workerServer();
  const [client, subscriber] = [server.client(), server.client()];
  const messages: string[] = [];
  const ends = new Map<string, () => void>();
  subscriber.on("message", (channel, message) => {
    if (channel === "end") ends.get(message)?.();
    else messages.push(`${channel} ${message}`);
  });
  return {
    raw: (command, ...args) => client.call(command, ...args) as Promise<RawReply>,
    async run(script, input) {
      const { script: source, keys, args } = script.encode(input);
      const raw = (await client.eval(source.lua, keys.length, ...keys, ...args)) as RawReply;
      return script.decode(raw, keys.length).reply;
    },
    async listen(...channels) {
      await subscriber.unsubscribe();
      await subscriber.subscribe("end", ...channels);
    },
    async heard() {
      const name = String(ends.size);
      const ended = new Promise<void>((resolve) => ends.set(name, resolve));
      await client.publish("end", name);
      await ended;
      return messages.splice(0);
    },
    async close() {
      await client.flushall();
      await server.stop();
    },
  };
}

async function openMemory(): Promise<QueueServer> {
  const server = new MemoryServer();
  const messages: string[] = [];
  const ends: (() => void)[] = [];
  return {
    raw: async (command, ...args) => server.command(command, ...args),
    async run(script, input) {
      const { script: source, keys, args } = script.encode(input);
      return script.decode(server.evaluate(source, keys, args), keys.length).reply;
    },
    async listen(...channels) {
      for (const end of ends.splice(0)) end();
      for (const channel of channels)
        ends.push(server.subscribe(channel, (message) => messages.push(`${channel} ${message}`)));
    },
    async heard() {
      await turn();
      return messages.splice(0);
    },
    close: async () => undefined,
  };
}
