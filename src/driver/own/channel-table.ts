import { inRootContext } from "../../root-context.js";
import type { ChannelListener, Unsubscribe } from "../driver.js";

/** A connection that is ready to subscribe. Each call settles, at the latest when the connection is lost. */
export interface PubSubLink {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/**
 * Who listens to which channel. Keeps the subscriptions of one connection equal to that, one per channel however
 * many listen, and makes them anew on each connection that is attached.
 */
export class ChannelTable {
  readonly #channels = new Map<string, Channel>();
  #link: PubSubLink | undefined;

  /** True while somebody listens or wants to. */
  get inUse(): boolean {
    return this.#channels.size > 0;
  }

  /** Resolves when messages have begun to arrive; rejects when the server refuses or the link is detached. */
  add(name: string, listener: ChannelListener): Promise<Unsubscribe> {
    const channel = this.#channels.get(name) ?? new Channel(name);
    this.#channels.set(name, channel);
    const member: Member = { listener };
    const joined = new Promise<void>((resolve, reject) => {
      channel.joining.set(member, { resolve, reject });
    });
    void this.#settle(channel);
    return joined.then(() => this.#unsubscribe(channel, member));
  }

  /**
   * Subscribes on this link to every channel that somebody listens to, and tells them once that is done. Once more with the same
   * link: messages may have been missed, which they are told at once.
   */
  attach(link: PubSubLink): void {
    if (this.#link === link) {
      for (const { members } of this.#channels.values())
        for (const { listener } of members) listener.onReady();
    }
    this.#link = link;
    for (const channel of this.#channels.values()) void this.#settle(channel);
  }

  /** The link is gone. Those who were still joining are refused; the others wait for the next link. */
  detach(error: unknown): void {
    this.#link = undefined;
    for (const channel of this.#channels.values()) {
      channel.phase = "off";
      channel.work = undefined;
      refuse(channel, error);
      this.#forgetIfUnused(channel);
    }
  }

  /** These subscriptions have ended by themselves, though the link has not. @returns whether there were any */
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

  /** Makes subscriptions anew that were lost or refused, where somebody still listens. */
  renew(names: Iterable<string>): void {
    for (const name of names) {
      const channel = this.#channels.get(name);
      if (channel !== undefined) void this.#settle(channel);
    }
  }

  /** Nobody listens any more. */
  clear(error: unknown): void {
    for (const channel of this.#channels.values()) channel.members.clear();
    this.detach(error);
  }

  deliver(name: string, message: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    // A message can arrive together with the answer to SUBSCRIBE, and is then read before that answer is told.
    if (channel.phase === "joining") confirm(channel);
    for (const { listener } of channel.members) listener.onMessage(message);
  }

  #unsubscribe(channel: Channel, member: Member): Unsubscribe {
    return async () => {
      if (channel.members.delete(member) && channel.unused) await this.#settle(channel);
    };
  }

  /** One at a time per channel, so that a SUBSCRIBE never has an UNSUBSCRIBE of the same channel before it. */
  #settle(channel: Channel): Promise<void> {
    const link = this.#link;
    if (link === undefined) {
      this.#forgetIfUnused(channel);
      return Promise.resolve();
    }
    channel.work ??= inRootContext(() => this.#follow(channel, link));
    return channel.work;
  }

  /** Subscribes and unsubscribes until the link does what the listeners want. */
  async #follow(channel: Channel, link: PubSubLink): Promise<void> {
    // Not within the call that asked: nobody expects to be told before they have their promise.
    await null;
    while (this.#link === link) {
      if (channel.phase === "live" && channel.unused) {
        channel.phase = "leaving";
        // Refused or lost: what still comes of the channel is dropped, and the connection's end ends it.
        await link.unsubscribe(channel.name).catch(() => undefined);
        channel.phase = "off";
      } else if (channel.phase === "off" && !channel.unused) {
        channel.phase = "joining";
        const error = await link.subscribe(channel.name).then(() => undefined, reasonOf);
        if (this.#link !== link) return;
        if (error === undefined) confirm(channel);
        else return this.#end(channel, error);
      } else if (channel.joining.size > 0) {
        admit(channel);
      } else {
        return this.#end(channel);
      }
    }
  }

  /** In the same turn as the last look at what there is to do, so that nobody relies on work that is over. */
  #end(channel: Channel, error?: unknown): void {
    channel.work = undefined;
    if (error !== undefined) refuse(channel, error);
    this.#forgetIfUnused(channel);
  }

  #forgetIfUnused(channel: Channel): void {
    if (channel.unused && this.#channels.get(channel.name) === channel) this.#channels.delete(channel.name);
  }
}

/** Somebody who listens. One listener may be several. */
interface Member {
  readonly listener: ChannelListener;
}

/** Not kept any longer than needed: it holds on to the asynchronous context of its caller. */
interface Joining {
  resolve(): void;
  reject(error: unknown): void;
}

class Channel {
  /** Those who were told that messages arrive. */
  readonly members = new Set<Member>();
  readonly joining = new Map<Member, Joining>();
  phase: "off" | "joining" | "live" | "leaving" = "off";
  work: Promise<void> | undefined;

  constructor(readonly name: string) {}

  get unused(): boolean {
    return this.members.size + this.joining.size === 0;
  }
}

function confirm(channel: Channel): void {
  if (channel.phase === "live") return;
  channel.phase = "live";
  for (const { listener } of channel.members) listener.onReady();
  admit(channel);
}

function admit(channel: Channel): void {
  for (const [member, joining] of channel.joining) {
    channel.joining.delete(member);
    channel.members.add(member);
    member.listener.onReady();
    joining.resolve();
  }
}

/** Those who listened before stay: the next connection, or the next to join, tries again for them. */
function refuse(channel: Channel, error: unknown): void {
  channel.phase = "off";
  for (const [member, joining] of channel.joining) {
    channel.joining.delete(member);
    joining.reject(error);
  }
}

/** An error that is never undefined. */
function reasonOf(error: unknown): unknown {
  return error ?? new Error("the subscription failed");
}
