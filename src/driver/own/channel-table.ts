import { inRootContext } from "../../root-context.js";
import type { ChannelListener, Unsubscribe } from "../driver.js";

/** Begins and ends subscriptions. Each call settles, at the latest when its connection is lost. */
export interface PubSubLink {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/** The listener of each channel. Keeps the subscriptions of a link equal to the channels that have a listener. */
export class ChannelTable {
  readonly #channels = new Map<string, ConnectionChannel>();
  readonly #link: PubSubLink;

  constructor(link: PubSubLink) {
    this.#link = link;
  }

  /**
   * Resolves when messages have begun to arrive; rejects when the subscription fails. Replaces the present listener of the
   * channel, if any.
   */
  add(name: string, listener: ChannelListener): Promise<Unsubscribe> {
    const channel = this.#channels.get(name) ?? new ConnectionChannel(name);
    this.#channels.set(name, channel);
    channel.member?.joining?.reject(new Error("another listener has taken over the channel"));
    const joined = new Promise<ChannelMember>((resolve, reject) => {
      const member: ChannelMember = { listener, joining: { resolve: () => resolve(member), reject } };
      channel.member = member;
    });
    void this.#settle(channel);
    return joined.then((member) => () => this.#leave(channel, member));
  }

  /** Whether the channel has a listener whose `onReady` was called. */
  isHeard(name: string): boolean {
    const member = this.#channels.get(name)?.member;
    return member !== undefined && member.joining === undefined;
  }

  /** Calls `onReady` of the listeners again: they may have missed messages. */
  missed(names: Iterable<string>): void {
    for (const name of names) {
      if (this.isHeard(name)) this.#channels.get(name)?.member?.listener.onReady();
    }
  }

  /** These subscriptions have ended by themselves. @returns whether any were ended */
  lost(names: Iterable<string>): boolean {
    let any = false;
    for (const name of names) {
      const channel = this.#channels.get(name);
      if (channel?.phase !== "live") continue;
      channel.phase = "off";
      any = true;
    }
    return any;
  }

  /** Subscribes again to channels that still have a listener and whose subscription was lost or refused. */
  renew(names: Iterable<string>): void {
    for (const name of names) {
      const channel = this.#channels.get(name);
      if (channel !== undefined) void this.#settle(channel);
    }
  }

  /** Removes all listeners. Listeners that are not ready yet are rejected. */
  clear(error: unknown): void {
    for (const channel of this.#channels.values()) {
      channel.member?.joining?.reject(error);
      channel.member = undefined;
    }
    this.#channels.clear();
  }

  deliver(name: string, message: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    // A message in the same packet as the answer to SUBSCRIBE is delivered before the promise of that answer continues.
    if (channel.phase === "joining") confirm(channel);
    if (channel.member?.joining === undefined) channel.member?.listener.onMessage(message);
  }

  async #leave(channel: ConnectionChannel, member: ChannelMember): Promise<void> {
    if (channel.member !== member) return;
    channel.member = undefined;
    await this.#settle(channel);
  }

  /** Starts `#follow` unless it runs: one run per channel keeps a SUBSCRIBE from overtaking an UNSUBSCRIBE of the same channel. */
  #settle(channel: ConnectionChannel): Promise<void> {
    channel.work ??= inRootContext(() => this.#follow(channel));
    return channel.work;
  }

  /** Subscribes and unsubscribes until the link matches the wanted channels. */
  async #follow(channel: ConnectionChannel): Promise<void> {
    // The loop starts a microtask later: the link may fail at once, and `add` must return its promise before `onReady` or a rejection
    // reaches the caller.
    await null;
    for (;;) {
      const { member, phase, name } = channel;
      if (phase === "live" && member === undefined) {
        channel.phase = "leaving";
        // A refused or lost UNSUBSCRIBE is ignored: messages that still arrive have no listener, and the subscription ends with the
        // connection.
        await this.#link.unsubscribe(name).catch(() => undefined);
        channel.phase = "off";
      } else if (phase === "off" && member !== undefined) {
        channel.phase = "joining";
        const error = await this.#link.subscribe(name).then(() => undefined, reasonOf);
        if (error !== undefined) return this.#end(channel, error);
        confirm(channel);
      } else if (member?.joining !== undefined) {
        admit(member, member.joining);
      } else {
        return this.#end(channel);
      }
    }
  }

  /**
   * There must be no `await` between the last look at `member` and `phase` and this call. Otherwise `add` could find `work` set and rely on
   * it, and its listener would never be subscribed.
   */
  #end(channel: ConnectionChannel, error?: unknown): void {
    channel.work = undefined;
    if (error !== undefined) refuse(channel, error);
    if (channel.member === undefined && this.#channels.get(channel.name) === channel)
      this.#channels.delete(channel.name);
  }
}

/** The listener of a channel. */
interface ChannelMember {
  readonly listener: ChannelListener;
  /** Set until `onReady` is called. It is then dropped, because it keeps the asynchronous context of the caller of `subscribe` alive. */
  joining: Joining | undefined;
}

interface Joining {
  resolve(): void;
  reject(error: unknown): void;
}

class ConnectionChannel {
  member: ChannelMember | undefined;
  phase: "off" | "joining" | "live" | "leaving" = "off";
  work: Promise<void> | undefined;

  constructor(readonly name: string) {}
}

function confirm(channel: ConnectionChannel): void {
  if (channel.phase === "live") return;
  channel.phase = "live";
  const { member } = channel;
  if (member?.joining === undefined) member?.listener.onReady();
  else admit(member, member.joining);
}

function admit(member: ChannelMember, joining: Joining): void {
  member.joining = undefined;
  member.listener.onReady();
  joining.resolve();
}

/** A listener that was never ready is rejected. A listener that was ready before stays: `Subscriber` subscribes again for it. */
function refuse(channel: ConnectionChannel, error: unknown): void {
  channel.phase = "off";
  const { member } = channel;
  if (member?.joining === undefined) return;
  channel.member = undefined;
  member.joining.reject(error);
}

/** The error, or a new error if it is undefined. */
function reasonOf(error: unknown): unknown {
  return error ?? new Error("the subscription failed");
}
