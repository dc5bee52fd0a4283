import { getEventListeners } from "node:events";
import { LeaseLostError } from "../../../src/errors.js";
import type { PendingCall } from "../checker/calls.js";
import { untrue, untrueRefusal } from "../checker/truth.js";
import type { Stream } from "../chooser/chooser.js";
import type { Member, Scene } from "./member.js";

/** They wait for nobody, however long the call did that they belong to. */
const BRIEF = /^(?:unlock|forceUnlock)\b/;

/** What a call was asked, as far as its answer is judged by it. */
export interface Asked {
  readonly what: string;
  readonly names: readonly string[];
  /** How long it may wait. */
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly leaseMs?: number | undefined;
  /** As the option; with a hold around it, it is renewed as that is. */
  readonly watchdogMs?: number | undefined;
  readonly maxHoldMs?: number | undefined;
  /** The calls whose holds it is made inside of. */
  readonly around?: readonly Asked[];
  /** It is about the read lock of a pair. */
  readonly reads?: boolean;
  /** It asks again and again while it waits, and hears of no release. */
  readonly polls?: boolean;
  /** Others of the process call with the same thread id: they take turns. */
  readonly sharesId?: boolean;
  /** Some of the servers may fail, and the call asks all of them. */
  readonly isRed?: boolean;
  /** It frees by force, and gives up when others are faster. */
  readonly isForce?: boolean;
  /** It only waits, and for `waitMs` at most: no body is part of it. */
  readonly isAlone?: boolean;
  /** Its hold may be over already, as far as the checker knows. */
  readonly mayBeOver?: boolean;
  /** Whether an error that it ends with is true for a reason of its own. */
  readonly explains?: (error: unknown) => boolean;
}

/** What became of a call. */
export type Became<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly error: unknown };

/** One task of a process: what it calls is judged. */
export class Caller {
  readonly name: string;
  readonly scene: Scene;
  readonly member: Member;
  readonly stream: Stream;
  /** What it looks at besides. */
  readonly looks: Stream;
  /** What it does as a tool would. */
  readonly tools: Stream;
  /** How long the leases are that its calls ask for. */
  readonly beats: Stream;
  /** Which leases it sets anew, and which locks it keeps after their release. */
  readonly ends: Stream;
  /** Whether, and by what, it finds the locks. */
  readonly finds: Stream;
  /** Whether it runs a fire. */
  readonly fires: Stream;

  /** When the latest call began. */
  startUs = 0;

  constructor(name: string, scene: Scene, member: Member, stream: Stream) {
    this.name = name;
    this.scene = scene;
    this.member = member;
    this.stream = stream;
    this.looks = scene.chooser.stream(`${name}.looks`);
    this.tools = scene.chooser.stream(`${name}.tools`);
    this.beats = scene.chooser.stream(`${name}.beats`);
    this.ends = scene.chooser.stream(`${name}.ends`);
    this.finds = scene.chooser.stream(`${name}.finds`);
    this.fires = scene.chooser.stream(`${name}.fires`);
  }

  /** Lets time pass for the task. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.member.process.after(ms, resolve));
  }

  say(text: string): void {
    this.scene.history.add(this.member.process.name, `${this.name}: ${text}`);
  }

  /** Calls the library, and judges how that ends. */
  async call<T>(asked: Asked, act: () => Promise<T>): Promise<Became<T>> {
    const { checker } = this.scene;
    const { process } = this.member;
    const { what, names, waitMs } = asked;
    this.say(what);
    const call = checker.calls.begin({
      process: process.name,
      what: `${this.name}: ${what}`,
      names,
      waitMs,
      isAlone: asked.isAlone === true,
      mostMs: BRIEF.test(what)
        ? 0
        : asked.isAlone === true || names.length === 0
          ? waitMs
          : Number.POSITIVE_INFINITY,
      reads: asked.reads === true,
      polls: asked.polls === true,
      sharesId: asked.sharesId === true,
      signal: asked.signal,
      clockSinceUs: process.clockSinceUs,
      isDead: () => process.isDead,
    });
    this.startUs = call.startUs;
    this.scene.redTerms?.asks(asked, this.member);
    try {
      const acting = act();
      for (const tell of [...this.member.whenCalled]) tell();
      const value = await acting;
      if (value === null) this.#refused(asked, call);
      return { ok: true, value };
    } catch (error) {
      this.say(
        `${what} failed: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`,
      );
      if (error instanceof LeaseLostError) checker.gave(error.holder);
      const complaint = untrue(error, { asked, call, scene: this.scene, member: this.member });
      if (complaint !== undefined) checker.fail("truth", `${this.name}: ${what}: ${complaint}`);
      return { ok: false, error };
    } finally {
      checker.calls.end(call);
      this.#lookAtSignal(call);
    }
  }

  #lookAtSignal({ what, signal }: PendingCall): void {
    const { checker } = this.scene;
    if (signal === undefined || checker.calls.hasWith(signal)) return;
    if (getEventListeners(signal, "abort").length > 0)
      checker.fail("leftovers", `${what} is over, and its signal is still listened to`);
  }

  #refused(asked: Asked, call: PendingCall): void {
    const { scene, member } = this;
    this.say(`${asked.what} was refused`);
    const complaint = untrueRefusal({ asked, call, scene, member });
    if (complaint !== undefined)
      scene.checker.fail("truth", `${this.name}: ${asked.what} was refused: ${complaint}`);
  }
}
