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
  /** Why there is no connection at present, where the Redis client has told; undefined while there is one. */
  readonly outage?: Error | undefined;
  /**
   * Names the server that has a key at present, as each server has a clock of its own; the number of its slot where the client does not
   * tell which server that is. Not there where one server has
   * all keys and never changes.
   */
  placeOf?(key: string): string;
  /**
   * Calls back whenever `placeOf` may answer otherwise than before for some keys: a slot has moved, or another server is the
   * master. By then `placeOf` names the new server. Not there where one server has all keys and never changes, or
   * the client does not tell.
   * @returns what ends it. Safe twice
   */
  onMoved?(moved: () => void): () => void;
  /**
   * Asks the servers whether keys have moved, and runs the callbacks of `onMoved` if so: a client that sends nothing to a slot
   * gets no redirection when it moves. Never rejects. Not there where the client is told in any case.
   */
  lookForMoves?(): Promise<void>;
  /**
   * Runs a script: `EVALSHA`, and `EVAL` where the server does not know it. Calls made in order reach the
   * server in order while the connection holds.
   *
   * Rejects with {@link ServerReplyError} when the server answered with an error, in which case the script
   * did not run to its end; with {@link DriverClosedError} when it was not sent and none will be; with anything
   * else the outcome is unknown. May never settle while the Redis client may still reach the server: callers bound
   * the time themselves, and then set `ticket.givenUp`, after which the adapter starts nothing more for it.
   */
  run(call: ScriptCall, ticket: Ticket): Promise<RawReply>;
  /**
   * As `run`, and then waits until replicas have what the script wrote, on a connection of its own for each master: Redis
   * counts only what the connection that asks has written itself. Calls of one turn share one `WAIT`. Also rejects with
   * {@link WaitRefusedError}. Not there where the client offers no such connection.
   */
  runReplicated?(call: ScriptCall, ticket: Ticket, demand: ReplicaDemand): Promise<ReplicatedReply>;
  /**
   * Runs a script without keys on each master, and answers what each of them said: a list of one where one server has all keys.
   * Never answers a part: rejects as `run` does, and as a whole when one master refuses or cannot be reached, or when those that have
   * answered do not have all slots of the cluster between them, as they see it themselves. A master may run the script more than
   * once, so it may only read. Not there where the client cannot ask each master.
   */
  everywhere?(call: ScriptCall, ticket: Ticket): Promise<readonly MasterReply[]>;
  /**
   * Listens to a channel, on connections of its own shared by all channels and opened at first use.
   * `onReady` is called whenever messages begin to arrive: once at first, then after each reconnect, as
   * messages may have been missed. Resolves when the listening began; a rejection leaves nothing behind.
   *
   * A channel has one listener, which the caller shares: a second `subscribe` of the same channel replaces the first. From then on the
   * first may hear messages or not, its promise may be rejected, and its unsubscribing changes nothing.
   * @param family which messages: those of `PUBLISH` or those of `SPUBLISH`. Default: classic
   */
  subscribe(channel: string, listener: ChannelListener, family?: PubSubFamily): Promise<Unsubscribe>;
  /**
   * Closes what the driver opened itself, never what it was given. Later calls reject with
   * {@link DriverClosedError}. Safe twice; settles in bounded time even when the server is gone.
   */
  close(): Promise<void>;
}

export interface DriverTraits {
  /** Names the server in messages, without credentials: `redis://127.0.0.1:6379/0`. */
  readonly server: string;
  readonly topology: "standalone" | "sentinel" | "cluster" | "memory";
  /** Whether it can listen to sharded messages. Default: false. */
  readonly sharded?: boolean;
}

/** `PUBLISH` and `SUBSCRIBE`, or `SPUBLISH` and `SSUBSCRIBE`: a listener of one family does not hear the messages of the other one. */
export type PubSubFamily = "classic" | "sharded";

/** How many replicas are to have a write. */
export interface ReplicaDemand {
  /** `connected`: as many as are connected, perhaps none. `majority` and `all` demand at least one. */
  readonly replicas: number | "majority" | "all" | "connected";
  /** How long to wait for them, in milliseconds. */
  readonly timeoutMs: number;
}

/** What a script answered, and how many replicas had its writes in time. */
export interface ReplicatedReply {
  readonly reply: RawReply;
  readonly acknowledged: number;
  readonly wanted: number;
}

/** What one master answered. */
export interface MasterReply {
  /** Names the master, without credentials: "host:port" in a cluster. */
  readonly server: string;
  readonly reply: RawReply;
}

/** Shared by the adapter that runs a call and the caller that waits for its answer. */
export interface Ticket {
  /** Set once the caller no longer waits for the answer: do not begin another try of this call. */
  givenUp: boolean;
  /** The masters that {@link Driver.everywhere} still has no answer of, where the adapter tells: an error names them. */
  silent?: ReadonlySet<string> | undefined;
}

export interface ChannelListener {
  onMessage(message: string): void;
  onReady(): void;
}

/** Stops listening. Resolves once the server has confirmed it, or its connection is gone. Safe twice. */
export type Unsubscribe = () => Promise<void>;

/**
 * What Redis before 7.0 puts before the refusal of a command that a script has sent:
 * `ERR Error running script (call to f_<sha1>): @user_script:21: @user_script: 21: -READONLY …`. Of `redis.pcall` a script
 * gets the second half.
 */
const WRAPPING = /^(?:ERR Error running script \(call to f_\w+\): @\w+:\d+: )?(?:@user_script: \d+: -?)?/;
/** From 7.0 on the place in the script comes last: `READONLY … script: <sha1>, on @user_script:21.` */
const FROM_SCRIPT = /^ERR Error running script |@user_script:/;
const CODE = /^[A-Z][A-Z0-9]*\b/;

/** The server received the command and refused it. The message has the server's words, without what it wraps them in. */
export class ServerReplyError extends Error {
  override readonly name = "ServerReplyError";
  /** The first word of the server's answer: `NOAUTH`, `OOM`, `READONLY`, … */
  readonly code: string;
  /** Whether a script was running, which may have written something before. */
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

/** The server does not carry out `WAIT` for this user, so what its replicas have stays unknown. The script was not sent. */
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
