import { inRootContext } from "../../root-context.js";
import type { ChannelListener, Unsubscribe } from "../driver.js";

/** What begins and ends subscriptions. Each call settles, at the latest when its connection is lost. */
export interface PubSubLink {
  subscribe(channel: string): Promise<unknown>;
  unsubscribe(channel: string): Promise<unknown>;
}

/** Who listens to which channel, one for each. Keeps the subscriptions of a link equal to that. */
export class ChannelTable {
  readonly #channels = new Map<string, Channel>();
  readonly #link: PubSubLink;

  constructor(link: PubSubLink) {
    this.#link = link;
  }

  /**
   * Resolves when messages have begun to arrive; rejects when the subscription fails. Takes the channel from the one that
   * listens to it by then, if any.
   */
  add(name: string, listener: ChannelListener): Promise<Unsubscribe> {
    const channel = this.#channels.get(name) ?? new Channel(name);
    this.#channels.set(name, channel);
    channel.member?.joining?.reject(new Error("the channel has another listener by now"));
    const joined = new Promise<Member>((resolve, reject) => {
      const member: Member = { listener, joining: { resolve: () => resolve(member), reject } };
      channel.member = member;
    });
    void this.#settle(channel);
    return joined.then((member) => () => this.#leave(channel, member));
  }

  /** Whether somebody was told that messages of the channel arrive, and has not left since. */
  isHeard(name: string): boolean {
    const member = this.#channels.get(name)?.member;
    return member !== undefined && member.joining === undefined;
  }

  /** Tells those who listen that they may have missed messages. */
  missed(names: Iterable<string>): void {
    for (const name of names) {
      if (this.isHeard(name)) this.#channels.get(name)?.member?.listener.onReady();
    }
  }

  /** These subscriptions have ended by themselves. @returns whether there were any */
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
    for (const channel of this.#channels.values()) {
      channel.member?.joining?.reject(error);
      channel.member = undefined;
    }
    this.#channels.clear();
  }

  deliver(name: string, message: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined) return;
    // A message can arrive together with the answer to SUBSCRIBE, and is then read before that answer is told.
    if (channel.phase === "joining") confirm(channel);
    if (channel.member?.joining === undefined) channel.member?.listener.onMessage(message);
  }

  async #leave(channel: Channel, member: Member): Promise<void> {
    if (channel.member !== member) return;
    channel.member = undefined;
    await this.#settle(channel);
  }

  /** One at a time per channel, so that a SUBSCRIBE never has an UNSUBSCRIBE of the same channel before it. */
  #settle(channel: Channel): Promise<void> {
    channel.work ??= inRootContext(() => this.#follow(channel));
    return channel.work;
  }

  /** Subscribes and unsubscribes until the link does what is wanted. */
  async #follow(channel: Channel): Promise<void> {
    // Not within the call that asked: nobody expects to be told before they have their promise.
    await null;
    for (;;) {
      const { member, phase, name } = channel;
      if (phase === "live" && member === undefined) {
        channel.phase = "leaving";
        // Refused or lost: what still comes of the channel is dropped, and the connection's end ends it.
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

  /** In the same turn as the last look at what there is to do, so that nobody relies on work that is over. */
  #end(channel: Channel, error?: unknown): void {
    channel.work = undefined;
    if (error !== undefined) refuse(channel, error);
    if (channel.member === undefined && this.#channels.get(channel.name) === channel)
      this.#channels.delete(channel.name);
  }
}

/** The one that listens to a channel. */
interface Member {
  readonly listener: ChannelListener;
  /** Until it was told that messages arrive. Not kept any longer: it holds on to the asynchronous context of its caller. */
  joining: Joining | undefined;
}

interface Joining {
  resolve(): void;
  reject(error: unknown): void;
}

class Channel {
  member: Member | undefined;
  phase: "off" | "joining" | "live" | "leaving" = "off";
  work: Promise<void> | undefined;

  constructor(readonly name: string) {}
}

function confirm(channel: Channel): void {
  if (channel.phase === "live") return;
  channel.phase = "live";
  const { member } = channel;
  if (member?.joining === undefined) member?.listener.onReady();
  else admit(member, member.joining);
}

function admit(member: Member, joining: Joining): void {
  member.joining = undefined;
  member.listener.onReady();
  joining.resolve();
}

/** One that listened before stays: it is tried again for it. */
function refuse(channel: Channel, error: unknown): void {
  channel.phase = "off";
  const { member } = channel;
  if (member?.joining === undefined) return;
  channel.member = undefined;
  member.joining.reject(error);
}

/** An error that is never undefined. */
function reasonOf(error: unknown): unknown {
  return error ?? new Error("the subscription failed");
}
