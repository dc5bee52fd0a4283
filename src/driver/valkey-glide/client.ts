import { inUrl } from "../addresses.js";
import { assertShape } from "../shape.js";
import { hiddenOf, TESTED } from "./unofficial.js";

/** What the adapter uses of GLIDE's `GlideClient`. A structural type, so that nothing of GLIDE is imported. */
export interface ValkeyGlideClient {
  customCommand(args: string[], options?: { decoder?: Bytes }): Promise<unknown>;
  subscribeLazy(channels: Iterable<string>): Promise<unknown>;
  unsubscribeLazy(channels: Iterable<string>): Promise<unknown>;
  getSubscriptions(): Promise<ValkeyGlideSubscriptions>;
  getPubSubMessage(): Promise<ValkeyGlideMessage>;
}

/** What the adapter uses of GLIDE's `GlideClusterClient`. */
export interface ValkeyGlideClusterClient extends Omit<ValkeyGlideClient, "customCommand"> {
  customCommand(args: string[], options?: { decoder?: Bytes; route?: ValkeyGlideRoute }): Promise<unknown>;
  ssubscribeLazy(channels: Iterable<string>): Promise<unknown>;
  sunsubscribeLazy(channels: Iterable<string>): Promise<unknown>;
}

/** The channels that GLIDE knows to be subscribed, by family. */
export interface ValkeyGlideSubscriptions {
  readonly actualSubscriptions: {
    readonly [EXACT]?: ReadonlySet<unknown>;
    readonly [SHARDED]?: ReadonlySet<unknown>;
  };
}

/** A message for a pattern names that pattern. Messages of `SPUBLISH` and of `PUBLISH` look alike. */
export interface ValkeyGlideMessage {
  readonly channel: unknown;
  readonly message: unknown;
  readonly pattern?: unknown;
}

export type ValkeyGlideRoute = "allPrimaries" | { readonly type: "primarySlotKey"; readonly key: string };

/** Options beside the client. */
export interface ValkeyGlideOptions<Client> {
  /**
   * A second client, of the same kind, with which only this driver listens. Made with the options of the first client and `defaultDecoder:
   * Decoder.Bytes`. The caller closes it, after holdfast.
   */
  readonly subscriber: Client;
}

/** `Decoder.Bytes`: GLIDE would throw an error for bytes that are not text. */
export const BYTES = 0;
export type Bytes = typeof BYTES;
/** `PubSubChannelModes.Exact` and `PubSubChannelModes.Sharded`. */
export const EXACT = 0;
export const SHARDED = 2;

const RESP2 = 1;

export type AnyClient = ValkeyGlideClient | ValkeyGlideClusterClient;

export function isCluster(client: AnyClient): client is ValkeyGlideClusterClient {
  return "ssubscribeLazy" in client;
}

/** The members that the adapter needs in a client, besides the members by which it knows the kind. */
const MEMBERS = ["unsubscribeLazy", "getSubscriptions", "getPubSubMessage"];
const CLUSTER_MEMBERS = [...MEMBERS, "sunsubscribeLazy"];

/** Throws a TypeError, with advice, for values that are not clients of GLIDE, and for clients that would break the protocol. */
export function assertUsable(client: AnyClient, subscriber: AnyClient | undefined): void {
  assertClient(client, "");
  const way = "valkeyGlideDriver(client, { subscriber })";
  if (subscriber === undefined || (subscriber as unknown) === client) {
    throw new TypeError(
      `valkeyGlideDriver needs a second client to listen with, as in ${way}: each message of a GLIDE client ` +
        "reaches only one of its readers",
    );
  }
  assertClient(subscriber, "subscriber ");
  if (isCluster(client) !== isCluster(subscriber))
    throw new TypeError(
      "valkeyGlideDriver needs two clients of the same kind: both for a cluster, or neither",
    );
  const { defaultDecoder, config } = hiddenOf(subscriber);
  if (config?.protocol === RESP2) {
    throw new TypeError(
      "valkeyGlideDriver refuses a subscriber with ProtocolVersion.RESP2: GLIDE subscribes only over RESP3. Leave protocol out",
    );
  }
  if (config?.pubsubSubscriptions?.callback) {
    throw new TypeError(
      "valkeyGlideDriver refuses a subscriber with a callback: the callback would get all messages. Leave pubsubSubscriptions out",
    );
  }
  if (defaultDecoder !== undefined && defaultDecoder !== BYTES) {
    throw new TypeError(
      "valkeyGlideDriver refuses a subscriber that decodes messages as text: GLIDE throws an error that no code can catch if a message " +
        "is not valid text. Create it with defaultDecoder: Decoder.Bytes",
    );
  }
}

function assertClient(client: AnyClient, role: string): void {
  if (typeof client?.customCommand !== "function") {
    throw new TypeError(
      `valkeyGlideDriver needs a ${role}GlideClient or GlideClusterClient, ` +
        `as in valkeyGlideDriver(await GlideClient.createClient(options), { subscriber }), got ${kindOf(client)}`,
    );
  }
  if (typeof client.subscribeLazy !== "function")
    throw new TypeError(
      "valkeyGlideDriver needs GLIDE 2.3 or later: earlier ones can not subscribe at run time",
    );
  const members = isCluster(client) ? CLUSTER_MEMBERS : MEMBERS;
  assertShape(client, { adapter: "valkeyGlideDriver", tested: TESTED, members });
}

function kindOf(value: unknown): string {
  if (value === null || typeof value !== "object")
    return value === undefined ? "nothing" : `a ${typeof value}`;
  return "then" in value ? "a promise: await it" : `another object; tested with ${TESTED}`;
}

/** Names the server as in a URL, without credentials; for a cluster, the servers that its client was given. */
export function serverName(client: AnyClient): string {
  const { addresses = [], databaseId = 0, useTLS = false } = hiddenOf(client).config ?? {};
  const hosts = addresses.map(({ host, port }) => inUrl(host, port));
  if (isCluster(client)) return `redis+cluster://${hosts.join(",")}`;
  return `${useTLS ? "rediss" : "redis"}://${hosts.join(",")}/${databaseId}`;
}
