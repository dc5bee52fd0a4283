import type { RawReply, ScriptCall } from "../protocol/script-call.js";

/**
 * The smallest port to a Redis server. An adapter knows one Redis client and nothing about locks; the
 * locks know this port and nothing about Redis clients.
 */
export interface Driver {
  /** What this connection can do; fixed for the life of the driver. */
  readonly traits: DriverTraits;
  /**
   * How often the command connection has been lost so far. A call that was under way while this number
   * grew may have reached the server, and the client may have sent it again.
   */
  readonly resets: number;
  /** Why there is no connection at present, if the Redis client tells; undefined while there is one. */
  readonly outage?: Error | undefined;
  /**
   * Names the server that has a key at present. Each server has its own clock. If the client does not reveal the server, returns the
   * number of the slot. Absent if one server has all keys and never changes.
   */
  placeOf?(key: string): string;
  /**
   * Calls back whenever `placeOf` may answer differently for some keys: a slot has moved, or another server is the master. By then
   * `placeOf` names the new server. Absent if one server has all keys and never changes, or if the client does not report this.
   * @returns a function that removes the callback. Safe twice
   */
  onMoved?(moved: () => void): () => void;
  /**
   * Asks the servers whether keys have moved, and runs the callbacks of `onMoved` if so. A client that sends nothing to a slot gets no
   * redirection when the slot moves. Never rejects. Absent if the client learns of moves anyway.
   */
  lookForMoves?(): Promise<void>;
  /**
   * Runs a script: `EVALSHA`, and `EVAL` if the server does not know the script. Calls made in order reach the server in order while the
   * connection holds.
   *
   * Rejects with {@link ServerReplyError} when the server answered with an error; the script then did not run to its end. Rejects with
   * {@link DriverClosedError} when the script was not sent and never will be. After any other error the outcome is unknown. May stay
   * pending while the Redis client may still reach the server, so callers limit the time themselves. A caller that no longer waits sets
   * `ticket.givenUp`, and the adapter starts nothing more for the call.
   */
  run(call: ScriptCall, ticket: Ticket): Promise<RawReply>;
  /**
   * Runs a script as `run` does, then waits until replicas have the script's writes. For this, each master has an extra connection: `WAIT`
   * counts only the writes of its own connection. Calls of one event-loop turn share one `WAIT`. Also rejects with {@link
   * WaitRefusedError}. Absent if the client offers no such connection.
   */
  runReplicated?(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply>;
  /**
   * Runs a script without keys on each master, and returns their answers. If one server has all keys, there is only one answer.
   * Rejects as `run` does. Also rejects when one master refuses or cannot be reached, or when the masters that answered lack slots of the
   * cluster, according to their own tables. A master may run the script more than once, so the script may only read. Absent if the client
   * cannot ask each master.
   */
  everywhere?(call: ScriptCall, ticket: Ticket): Promise<readonly MasterReply[]>;
  /**
   * Listens to a channel. All channels share extra connections, which are opened at first use. `onReady` is called when messages begin to
   * arrive, and again after each reconnect, as messages may have been missed. Resolves when messages begin to arrive; after a rejection
   * nothing stays subscribed.
   *
   * A channel has one listener: a second `subscribe` of the same channel replaces the first. From then on the
   * first subscription may or may not get messages, its promise may be rejected, and unsubscribing it changes nothing.
   * @param family the messages of `PUBLISH`, or those of `SPUBLISH`. Default: classic
   */
  subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe>;
  /**
   * Closes the connections that the driver opened itself, never the client that it was given. Later calls reject with {@link
   * DriverClosedError}. May be called twice; settles in bounded time even when the server is gone.
   */
  close(): Promise<void>;
}

export interface DriverTraits {
  /** Names the server in messages, without credentials: `redis://127.0.0.1:6379/0`. */
  readonly server: string;
  readonly topology: "standalone" | "sentinel" | "cluster" | "memory";
  /** Whether the connection can listen to sharded messages. Default: false. */
  readonly sharded?: boolean;
}

/** `PUBLISH` and `SUBSCRIBE`, or `SPUBLISH` and `SSUBSCRIBE`: a listener of one family does not hear the messages of the other family. */
export type PubSubFamily = "classic" | "sharded";

/** How many replicas must have a write. */
export interface ReplicaDemand {
  /** `connected`: as many as are connected, perhaps none. `majority` and `all` demand at least one. */
  readonly replicas: number | "majority" | "all" | "connected";
  /** How long to wait for these replicas, in milliseconds. */
  readonly timeoutMs: number;
}

/** The answer of a script, and how many replicas had its writes in time. */
export interface ReplicatedReply {
  readonly reply: RawReply;
  readonly acknowledged: number;
  readonly wanted: number;
}

/** The answer of one master. */
export interface MasterReply {
  /** Names the master, without credentials: "host:port" in a cluster. */
  readonly server: string;
  readonly reply: RawReply;
}

/** Shared by the adapter that runs a call and the caller that waits for its answer. */
export interface Ticket {
  /** Set once the caller no longer waits for the answer: no further try of this call may begin. */
  givenUp: boolean;
  /** The masters that have not answered {@link Driver.everywhere} yet, if the adapter reports them; an error names them. */
  silent?: ReadonlySet<string> | undefined;
}

export interface ChannelListener {
  onMessage(message: string): void;
  onReady(): void;
}

/** Stops listening. Resolves once the server has confirmed this, or the connection is gone. Safe twice. */
export type Unsubscribe = () => Promise<void>;

/**
 * The prefix of Redis before 7.0 for the refusal of a command that a script has sent: `ERR Error running script (call to f_<sha1>):
 * @user_script:21: @user_script: 21: -READONLY …`. `redis.pcall` gives a script only the part from the second `@user_script` on.
 */
const WRAPPING = /^(?:ERR Error running script \(call to f_\w+\): @\w+:\d+: )?(?:@user_script: \d+: -?)?/;
/** From 7.0 on the error comes first and its place in the script last: `READONLY … script: <sha1>, on @user_script:21.` */
const FROM_SCRIPT = /^ERR Error running script |@user_script:/;
const CODE = /^[A-Z][A-Z0-9]*\b/;

/** The server received the command and refused it. The message has the server's words, without the text around them. */
export class ServerReplyError extends Error {
  override readonly name = "ServerReplyError";
  /** The first word of the server's answer: `NOAUTH`, `OOM`, `READONLY`, … */
  readonly code: string;
  /** Whether a script was running, which may have written before the error. */
  readonly fromScript: boolean;
  constructor(answer: string, options?: ErrorOptions) {
    super(ownWords(answer), options);
    this.code = CODE.exec(this.message)?.[0] ?? "ERR";
    this.fromScript = FROM_SCRIPT.test(answer);
  }
}

function ownWords(answer: string): string {
  const [wrapping = ""] = WRAPPING.exec(answer) ?? [];
  if (wrapping === "") return answer;
  const words = answer.slice(wrapping.length).trimEnd();
  return CODE.test(words) ? words : `ERR ${words}`;
}

/** The server does not run `WAIT` for this user, so the state of its replicas stays unknown. The script was not sent. */
export class WaitRefusedError extends Error {
  override readonly name = "WaitRefusedError";
}

/** The driver was closed, or its Redis client has ended for good, so the call was not sent. */
export class DriverClosedError extends Error {
  override readonly name = "DriverClosedError";
  constructor(message = "the driver is closed") {
    super(message);
  }
}
