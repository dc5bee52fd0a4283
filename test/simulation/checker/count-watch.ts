import { permitLeasesKey, waitingKey } from "../../../src/protocol/names.js";
import type { RawReply, ScriptCall } from "../../../src/protocol/script-call.js";
import type { Stream } from "../chooser/chooser.js";
import type { Caller } from "../workload/caller.js";
import type { Member } from "../workload/member.js";
import type { SimServer } from "../world/sim-server.js";
import type { VirtualTime } from "../world/virtual-time.js";
import { type Answered, Answers, parseAnswer } from "./answers.js";
import type { Checker } from "./checker.js";
import { effectOf, effectOfCancel } from "./count-effects.js";
import { type CountState, readCount, totalOf } from "./count-state.js";
import type { Trouble } from "./trouble.js";
import type { Watch } from "./watch.js";

/** What a watch of a semaphore or a latch needs. */
export interface WatchParts {
  readonly name: string;
  readonly kind: string;
  readonly time: VirtualTime;
  readonly checker: Checker;
  readonly trouble: Trouble;
  readonly server: SimServer;
  /** What is chosen about this name. */
  readonly stream: Stream;
}

/** What changes a value though nobody has asked for it. */
const LOSSES = ["server-emptied", "server-older", "failover-lost"];

/**
 * Sees each script that concerns one semaphore or latch, and compares what it leaves and answers with what it is documented to do:
 * every request once, all answers true, permits never lost and never made.
 */
export abstract class CountWatch implements Watch {
  readonly answers: Answers = new Answers();
  protected readonly parts: WatchParts;
  /** When the number last changed. */
  protected changedUs = 0;
  readonly #keys: ReadonlySet<string>;
  /** It was removed while somebody had some of it. */
  protected isVoid = false;
  /** The server that has it: of a cluster, the one that last ran a script about it. */
  #server: SimServer;
  readonly #visitors = new Set<Member>();
  #before: CountState | undefined;
  #last: CountState | undefined;

  constructor(parts: WatchParts) {
    this.parts = parts;
    this.#server = parts.server;
    this.#keys = new Set([parts.name, permitLeasesKey(parts.name)]);
  }

  get name(): string {
    return this.parts.name;
  }

  /** As the server has it now. */
  get state(): CountState {
    return readCount(this.#server, this.name);
  }

  protected get server(): SimServer {
    return this.#server;
  }

  /** Whether a process comes for the first time. */
  isFirstVisit(member: Member): boolean {
    const isFirst = !this.#visitors.has(member);
    this.#visitors.add(member);
    return isFirst;
  }

  /** What a call was told has to be what the server has answered to its process meanwhile. */
  told(caller: Caller, sinceUs: number, script: string, status: string, ...numbers: number[]): void {
    this.toldWhere(
      caller,
      sinceUs,
      script,
      (answered) =>
        answered.status === status && numbers.every((number, at) => answered.numbers[at] === number),
    );
  }

  /** The same for an answer that has to fit otherwise. */
  toldWhere(
    { name, member, scene }: Caller,
    sinceUs: number,
    script: string,
    fits: (answered: Answered) => boolean,
  ): void {
    const by = member.process.name;
    if (this.answers.some(by, sinceUs, (answered) => answered.script === script && fits(answered))) return;
    const since = `since ${sinceUs / 1_000} ms`;
    scene.checker.fail("truth", `${name}: "${this.name}": no answer to a ${script} ${since} was so`);
  }

  abstract glance(): void;
  abstract end(): void;
  /** A script has changed something, or told that it has not. */
  protected abstract answered(answered: Answered, after: CountState): void;
  starts(server: SimServer, { keys, script }: ScriptCall): void {
    this.#before = undefined;
    if (script.name === "server-probe" || !keys.some((key) => this.#keys.has(key))) return;
    this.#server = server;
    this.#before = readCount(server, this.name);
    this.#changedByItself(this.#before);
  }

  ran(server: SimServer, call: ScriptCall, by: string, answer: RawReply | Error): void {
    const before = this.#before;
    if (before === undefined) return;
    const after = readCount(server, this.name);
    this.#last = after;
    if (answer instanceof Error) {
      this.#expect(`${call.script.name} of ${by} was refused`, before, after);
      return;
    }
    let current = before;
    const all: Answered[] = [];
    for (const raw of this.#mine(call, answer as readonly RawReply[])) {
      const answered = this.#seen(raw.call, raw.answer, by, current);
      const earlier = { decided: this.answers.decided(answered.request) };
      this.answers.add(answered);
      all.push(answered);
      const effect = answered.script.endsWith("-cancel")
        ? effectOfCancel(answered, earlier)
        : effectOf(answered, earlier);
      this.#isRemembered(server, answered);
      if ("wrong" in effect) this.#fail(`${wordsOf(answered)}: ${effect.wrong}`);
      else current = { ...current, ...effect.after };
    }
    this.#expect(all.map(wordsOf).join("; "), current, after);
    if (before.count !== after.count || before.leases.size !== after.leases.size) this.changed();
    for (const answered of all) {
      if (answered.status === "deleted") this.isVoid = true;
      this.answered(answered, after);
    }
  }

  /** The number is another now. */
  protected changed(): void {
    this.changedUs = this.parts.time.nowUs;
    this.parts.checker.calls.changed(this.name);
  }

  /** @returns what concerns it, of a script that answers for several */
  #mine(call: ScriptCall, answer: readonly RawReply[]): readonly { call: ScriptCall; answer: RawReply }[] {
    const width = WIDTHS[call.script.name];
    // Its answer is judged by what the server had.
    if (call.script.name.startsWith("lock-inspect")) return [{ call, answer: ["seen"] }];
    if (width === undefined) return [{ call, answer: answer[1] ?? null }];
    return call.keys.flatMap((key, at) => {
      if (!this.#keys.has(key)) return [];
      const args = call.args.slice(at * width, (at + 1) * width);
      return [{ call: { ...call, keys: [key], args }, answer: answer[at + 1] ?? null }];
    });
  }

  #seen(call: ScriptCall, raw: RawReply, by: string, before: CountState): Answered {
    const [status, ...numbers] = raw as readonly RawReply[];
    const parsed =
      WIDTHS[call.script.name] === undefined
        ? parseAnswer(call, raw)
        : {
            request: undefined,
            notAfterMs: Number.POSITIVE_INFINITY,
            args: call.args,
            status: String(status),
            numbers: numbers.map(Number),
          };
    const { askedUs } = this.#server;
    const looks = call.keys.includes(waitingKey(this.name));
    const seen = {
      ...parsed,
      atUs: this.parts.time.nowUs,
      askedUs,
      by,
      script: call.script.name,
      before,
      looks,
    };
    const decided = this.answers.decided(seen.request);
    const isCancel = call.script.name.endsWith("-cancel");
    return { ...seen, isRepeat: isCancel ? decided?.status === "cancelled" : decided !== undefined };
  }

  /** A cancelled request is known as such to whatever copy of it arrives yet. */
  #isRemembered(server: SimServer, { request, script, status, by }: Answered): void {
    if (request === undefined || !script.endsWith("-cancel") || status !== "cancelled") return;
    const [requests = "", id = ""] = request.split(" ");
    const record = server.command("HGET", requests, id);
    if (record !== "cancelled:0") this.#fail(`${script} of ${by} is remembered as ${record}`);
  }

  #expect(what: string, expected: Pick<CountState, "count" | "leases">, found: CountState): void {
    if (expected.count !== found.count) {
      this.#fail(`${what}: leaves ${found.count}, and should leave ${expected.count}`);
    }
    const isSame =
      expected.leases.size === found.leases.size &&
      [...expected.leases].every(([id, endsMs]) => found.leases.get(id) === endsMs);
    if (!isSame) this.#fail(`${what}: leaves the leases ${said(found)}, and should leave ${said(expected)}`);
  }

  /** Nothing but time changes it between two scripts. */
  #changedByItself(found: CountState): void {
    const last = this.#last;
    this.#last = found;
    if (last === undefined) return;
    if (last.count !== undefined && found.count === undefined) {
      this.isVoid = true;
      return;
    }
    if (totalOf(last) === totalOf(found)) return;
    if (this.parts.trouble.happened(...LOSSES)) this.isVoid = true;
    else this.#fail(`${totalOf(found)} permits, and there were ${totalOf(last)} before`);
  }

  #fail(text: string): void {
    this.parts.checker.fail("conservation", `"${this.name}": ${text}`);
  }
}

/** How many arguments each key has, of scripts that answer for several. */
const WIDTHS: Readonly<Record<string, number>> = { "permit-renew": 2, "permit-confirm": 1 };

function wordsOf({ script, by, status, numbers }: Answered): string {
  return `${script} of ${by}, answered ${status} ${numbers.join(", ")}`;
}

function said({ leases }: Pick<CountState, "leases">): string {
  return [...leases].map(([id, endsMs]) => `${id.slice(-4)} until ${endsMs}`).join(", ") || "none";
}
