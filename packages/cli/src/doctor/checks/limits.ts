import { type Check, type Finding, fail, ok, warn } from "../check.js";
import { ofEach, setting } from "../scene.js";
import { bytes, numberOf } from "./memory.js";

const doc = "docs/guide/servers.md#settings-of-the-server";
const CROWDED = 0.8;
/**
 * The check asks for a buffer of at least this size: thousands of messages of a few hundred bytes may be on their way to one subscriber.
 */
const LEAST_BUFFER = 1_048_576;

interface Limits {
  readonly timeout: number;
  readonly keepAlive: number;
  /** The limit in bytes; 0 for no limit. */
  readonly buffer: number;
  readonly clients: number;
  readonly mostClients: number;
}

/** Which connections the server closes or refuses. */
export const limits: Check = {
  id: "limits",
  look: (scene) =>
    ofEach(scene, async (server) => {
      const facts = await scene.facts(server);
      const buffers = (await setting(server, "client-output-buffer-limit")) ?? "";
      return judge({
        timeout: Number((await setting(server, "timeout")) ?? 0),
        keepAlive: Number((await setting(server, "tcp-keepalive")) ?? 300),
        buffer: Number(/\bpubsub (\d+)/.exec(buffers)?.[1] ?? 0),
        clients: numberOf(facts, "connected_clients"),
        mostClients: Number((await setting(server, "maxclients")) ?? numberOf(facts, "maxclients")),
      });
    }),
};

export function judge(found: Limits): readonly Finding[] {
  const { timeout, keepAlive, buffer, clients, mostClients } = found;
  const findings: Finding[] = [];
  const used = `${clients} of ${mostClients} clients`;
  if (mostClients > 0 && clients > CROWDED * mostClients)
    findings.push(
      fail(`${used} are connected`, {
        why: "The server refuses more than that, and a restarted process can then neither renew its locks nor take new ones.",
        wanted: "Raise maxclients, or find out which program opens so many connections.",
        doc,
      }),
    );
  if (timeout > 0)
    findings.push(
      warn(`timeout is ${timeout}: connections that are idle for ${timeout} s are closed`, {
        why: "The first lock after a pause waits for a new connection.",
        wanted: "Set timeout 0; tcp-keepalive finds dead connections.",
        doc,
      }),
    );
  if (keepAlive === 0)
    findings.push(
      warn("tcp-keepalive is 0", {
        why: "Connections of machines that vanished stay open, and count as clients and as listeners.",
        wanted: "Set tcp-keepalive 300.",
        doc,
      }),
    );
  if (buffer > 0 && buffer < LEAST_BUFFER)
    findings.push(
      warn(`client-output-buffer-limit pubsub is ${bytes(buffer)}`, {
        why: "A process that reads slowly for a moment loses its subscriptions, and waits longer for locks.",
        wanted: "Set client-output-buffer-limit pubsub 32mb 8mb 60.",
        doc,
      }),
    );
  return findings.length > 0 ? findings : [ok(`${used}, idle connections stay`)];
}
