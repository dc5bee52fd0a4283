import { Deadline } from "../../../src/runtime/deadline.js";
import { Chain } from "../../../src/threads/chain.js";
import type { ServerRecord } from "../../../src/threads/server-record.js";
import type { LockScriptsBeside } from "./lock-scripts-beside.js";
import { type ModelAnswer, type ModelCommand, ModelLockServer } from "./model-lock-server.js";
import { type ModelHold, ModelStay } from "./model-stay.js";

const TIMEOUT_MS = 100;
const LEASE_MS = 30_000;
/** More than any stay needs to come to rest once nothing goes wrong. */
const MOST_ROUNDS = 200;

/** A command that was sent, until it is answered or given up. */
interface Sent {
  readonly stay: ModelStay;
  readonly record: ServerRecord;
  readonly limited: boolean;
  command: ModelCommand;
  deadline: Deadline | undefined;
  repeated: boolean;
  readonly answered: (answer: ModelAnswer) => void;
  readonly failed: () => void;
}

/** What is under way to the server, or back. */
interface Message {
  readonly sent: Sent;
  readonly command: ModelCommand;
  readonly notAfterMs: number;
  answer?: { readonly answer: ModelAnswer; readonly serverMs: number };
}

/**
 * Clients' stays in one lock that keep {@link ServerRecord}s, a network that loses, doubles and delays what they send, and the lock's server.
 * A sequence of numbers decides what happens.
 */
export class ServerRecordModel {
  readonly server = new ModelLockServer();
  /** The real scripts, which are held to do what the model does. */
  readonly #scripts: LockScriptsBeside | undefined;
  readonly #clock = { resets: 0, offsetMs: 0, latestMs: 0 };
  readonly #stays: ModelStay[] = [];
  /** The latest stay under the id that the caller chose. */
  #chosen: ModelStay;
  readonly #underWay = new Map<ServerRecord, Sent>();
  readonly #messages: Message[] = [];
  #asks = 0;
  #numbers = 0;
  #isFaultless = false;
  #isClosed = false;

  constructor(scripts?: LockScriptsBeside) {
    this.#scripts = scripts;
    this.#chosen = this.#begin(true);
  }

  /** @param choices what happens, one thing for each number. @throws Error when a promise is broken */
  play(choices: readonly number[]): "at rest" {
    for (const choice of choices) {
      this.#act(choice);
      this.#check();
    }
    this.#settle();
    return "at rest";
  }

  #act(choice: number): void {
    const rest = Math.floor(choice / ACTIONS);
    const stay = this.#pick(this.#stays, rest);
    const message = this.#pick(this.#messages, rest);
    const actions = [
      () => this.#ask(stay),
      () => this.#ask(this.#isClosed ? undefined : this.#begin(false)),
      () => this.#askByChosenId(),
      () => this.#release(stay),
      () => this.#handOver(stay),
      () => this.#cancel(stay),
      () => this.#lose(stay),
      () => this.#force(rest % 2 === 0),
      () => this.#wait(rest % 3),
      () => this.#close(rest % 8),
      () => this.#sendAgain(message?.sent),
      () => this.#drop(message),
      () => this.#giveUp(message?.sent),
    ];
    const act = actions[choice % ACTIONS] ?? (() => this.#arrive(message, rest % 5));
    act();
  }

  #pick<T>(from: readonly T[], choice: number): T | undefined {
    return from[choice % Math.max(1, from.length)];
  }

  #begin(isReused: boolean): ModelStay {
    this.#numbers += 1;
    const stay = new ModelStay(`client:${isReused ? 7 : 1_000 + this.#numbers}`, isReused);
    this.#stays.push(stay);
    return stay;
  }

  #ask(stay: ModelStay | undefined): void {
    if (this.#isClosed || stay === undefined || stay.asked !== undefined || stay.isFinal) return;
    if (stay.works.length > 0) return;
    // Nothing is asked for in a stay that has handed its lock over.
    if (stay.chain !== undefined && stay.chain.latest !== stay) return;
    this.#asks += 1;
    stay.asked = { ask: this.#asks, state: "asked" };
    this.#drive();
  }

  #askByChosenId(): void {
    if (this.#isClosed) return;
    const { inRedis, holds, works } = this.#chosen;
    const isIdle = holds.length === 0 && works.length === 0 && !this.#underWay.has(inRedis);
    if (isIdle && this.#chosen.asked === undefined && !inRedis.isPossible) {
      this.#stays.splice(this.#stays.indexOf(this.#chosen), 1);
      this.#chosen = this.#begin(true);
    }
    this.#ask(this.#chosen);
  }

  /** The caller releases its latest hold. */
  #release(stay: ModelStay | undefined): void {
    const hold = stay?.holds.at(-1);
    if (stay === undefined || hold === undefined) return;
    const isUnnamed = !stay.inRedis.isNamed;
    hold.state = "released";
    stay.holds = stay.holds.slice(0, -1);
    if (isUnnamed && stay.holds.length === 0 && stay.asked === undefined) {
      const fields = stay.chain?.leave() ?? [];
      stay.inRedis.lowers(0);
      // It overtakes the naming that may be under way.
      this.#underWay.delete(stay.inRedis);
      this.#free(stay, fields);
      return;
    }
    stay.works.push(() => {
      const kept = stay.holds.length;
      const { inRedis } = stay;
      if (inRedis.count <= kept || !inRedis.isNamed) return;
      inRedis.lowers(kept);
      this.#sendRelease(stay, kept, (answer) => {
        if (answer === "released" || answer === "late") return;
        if (answer === "absent" && kept === 0) return;
        stay.loseAll("stolen");
        inRedis.gone();
      });
    });
    this.#drive();
  }

  #handOver(stay: ModelStay | undefined): void {
    if (stay === undefined || stay.isReused || this.#isClosed) return;
    const { inRedis, holds, works, asked } = stay;
    const isBusy =
      works.length > 0 || asked !== undefined || (inRedis.isNamed && this.#underWay.has(inRedis));
    if (holds.length !== 1 || inRedis.count !== 1 || inRedis.copiesUntilMs > 0 || isBusy) return;
    const next = this.#begin(false);
    const chain = stay.chain ?? new Chain(stay, 0);
    next.holds = [{ ask: 0, state: "held" }];
    next.wasRemoved = stay.wasRemoved;
    chain.pass(next);
    stay.holds = [];
    stay.chain = chain;
    this.#drive();
  }

  #cancel(stay: ModelStay | undefined): void {
    if (stay?.asked === undefined) return;
    stay.asked.state = "released";
    stay.asked = undefined;
    this.#drive();
  }

  /** The trust in the holds of a stay ends. */
  #lose(stay: ModelStay | undefined): void {
    if (stay === undefined || stay.asked !== undefined) return;
    stay.loseAll("expired");
    this.#drive();
  }

  #force(isOwn: boolean): void {
    this.server.removeAll();
    this.#scripts?.removeAll();
    for (const stay of this.#stays) {
      stay.wasRemoved = true;
      if (!isOwn || stay.holds.length === 0) continue;
      stay.inRedis.forced(0);
      stay.loseAll("stolen");
    }
    this.#drive();
  }

  #wait(choice: number): void {
    this.server.nowMs += (choice * TIMEOUT_MS) / 2 + 1;
    this.#drive();
  }

  #close(choice: number): void {
    if (choice > 0) return;
    this.#isClosed = true;
    for (const stay of this.#stays) {
      stay.loseAll("closed");
      stay.asked = undefined;
    }
    this.#drive();
  }

  /** Sends what each stay needs next, one command at a time for each record. */
  #drive(): void {
    for (const stay of [...this.#stays]) this.#next(stay);
  }

  #next(stay: ModelStay): void {
    const { inRedis } = stay;
    if (this.#underWay.has(inRedis)) return;
    if (inRedis.isNamed) {
      const work = stay.works.shift();
      if (work !== undefined) {
        work();
        if (!this.#underWay.has(inRedis)) this.#next(stay);
        return;
      }
    } else if (stay.holds.length === 0) {
      stay.works = [];
    }
    const step = inRedis.next(stay.wanted);
    switch (step.does) {
      case "nothing":
        if (stay.asked !== undefined && inRedis.isNamed) this.#acquire(stay, inRedis.count);
        return;
      case "name":
        this.#name(stay);
        return;
      case "free-names":
        if (!inRedis.isNamed) {
          inRedis.namesLeft();
          inRedis.endTurn();
        }
        this.#free(stay, inRedis.names(stay.field));
        return;
      case "release":
        // What was answered meanwhile stays so until no copy can come any more.
        if (inRedis.copiesUntilMs >= this.server.nowMs && this.#isFaultless) {
          this.server.nowMs = inRedis.copiesUntilMs + 1;
        }
        if (step.keptCount === 0) inRedis.lowers(0);
        this.#sendRelease(stay, step.keptCount, (answer) => {
          if (step.keptCount > 0 && answer !== "released" && answer !== "late") stay.loseAll("stolen");
        });
    }
  }

  #acquire(stay: ModelStay, heldCount: number): void {
    const { inRedis, asked, field } = stay;
    if (asked === undefined) return;
    const { ask } = asked;
    inRedis.asking(LEASE_MS);
    this.#send(stay, { does: "acquire", field, heldCount, ask }, true, {
      answered: (answer) => {
        if (answer === "held") this.#enter(stay, asked, heldCount);
        else if (answer !== "miscounted") inRedis.refused(answer !== "late" || !this.#wasRepeated);
        if (answer === "lost") stay.loseAll("stolen");
        if (answer !== "held" && answer !== "late" && stay.asked === asked) stay.asked = undefined;
      },
      failed: () => {
        if (stay.asked === asked) stay.asked = undefined;
      },
    });
  }

  /** `held` was answered. The hold is entered if it is still wanted and its lease is not over. */
  #enter(stay: ModelStay, hold: ModelHold, heldCount: number): void {
    if (stay.asked !== hold) return;
    stay.asked = undefined;
    if (this.#spends) {
      this.#spends = false;
      return;
    }
    // Answers are not read in the order of the server, so that it may have been removed since.
    const holds = this.server.fields.get(stay.field);
    const author = holds?.[heldCount];
    if (!stay.wasRemoved && author !== hold.ask) {
      throw new Error(`${stay.field} is entered by ${hold.ask}, and has the acquisition ${author}`);
    }
    hold.state = "held";
    stay.inRedis.entered();
    stay.holds = [...stay.holds, hold];
  }

  #spends = false;
  /** Whether too few replicas have what the command that is answered has written. */
  #isShort = false;
  /** Whether the command that is answered was sent more than once. */
  #wasRepeated = false;

  #sendRelease(stay: ModelStay, keptCount: number, then: (answer: ModelAnswer) => void): void {
    const { inRedis, field } = stay;
    const { heldCount, limited } = inRedis.lowered(keptCount, stay.wanted.goesOn);
    if (!limited) stay.isFinal = true;
    this.#send(stay, { does: "release", fields: [field], heldCount, keptCount }, limited, {
      answered: (answer) => {
        if (answer === "released" || answer === "absent" || answer === "miscounted") {
          inRedis.released(keptCount, answer, this.#isShort);
        }
        then(answer);
      },
      failed: () => undefined,
    });
  }

  #name(stay: ModelStay): void {
    const { chain, field, inRedis } = stay;
    if (chain === undefined) throw new Error("a record without a chain is unnamed");
    const predecessors = inRedis.naming(field);
    this.#send(stay, { does: "name", successor: field, predecessors }, true, {
      answered: (answer) => {
        if (chain.isOver || answer === "late") return;
        const latest = chain.latest as ModelStay;
        if (answer === "held") inRedis.named(field, latest === stay);
        else {
          inRedis.namesFreed(false);
          latest.loseAll("stolen");
        }
        if (inRedis.isNamed) inRedis.endTurn();
      },
      failed: () => undefined,
    });
  }

  #free(stay: ModelStay, fields: readonly string[]): void {
    const { inRedis } = stay;
    if (stay.chain !== undefined) stay.chain.isOver = true;
    // A call that has waited to enter once more fails.
    stay.asked = undefined;
    stay.isFinal = true;
    this.#send(stay, { does: "release", fields, heldCount: 1, keptCount: 0 }, false, {
      answered: () => {
        inRedis.endTurn();
        inRedis.namesFreed(this.#isShort);
      },
      failed: () => undefined,
    });
  }

  #send(
    stay: ModelStay,
    command: ModelCommand,
    limited: boolean,
    then: Pick<Sent, "answered" | "failed">,
  ): void {
    const record = stay.inRedis;
    const sent: Sent = { stay, record, limited, command, deadline: undefined, repeated: false, ...then };
    this.#underWay.set(record, sent);
    this.#goes(sent);
  }

  #goes(sent: Sent): void {
    const notAfterMs = sent.limited ? this.server.nowMs + TIMEOUT_MS : 0;
    if (sent.limited) {
      sent.deadline = new Deadline(this.#clock, notAfterMs, TIMEOUT_MS).orLater(sent.deadline);
    }
    this.#messages.push({ sent, command: sent.command, notAfterMs });
  }

  /** The connection was lost: the command is sent once more, and it is not known whether it has arrived before. */
  #sendAgain(sent: Sent | undefined): void {
    if (sent === undefined || this.#underWay.get(sent.record) !== sent) return;
    sent.repeated = true;
    this.#goes(sent);
  }

  #drop(message: Message | undefined): void {
    if (message === undefined) return;
    this.#messages.splice(this.#messages.indexOf(message), 1);
    const { sent } = message;
    const isLast = !this.#messages.some((other) => other.sent === sent);
    if (isLast && this.#underWay.get(sent.record) === sent) this.#giveUp(sent);
  }

  /** One command timeout has passed without an answer. */
  #giveUp(sent: Sent | undefined): void {
    if (sent === undefined || this.#underWay.get(sent.record) !== sent) return;
    this.#underWay.delete(sent.record);
    if (sent.deadline !== undefined && sent.command.does !== "name") sent.record.copyMayArrive(sent.deadline);
    sent.failed();
    this.#drive();
  }

  /** A command reaches the server, or its answer the client. */
  #arrive(message: Message | undefined, choice: number): void {
    if (message === undefined) return;
    if (message.answer === undefined) {
      this.#run(message);
      // Its answer may be on its way for long.
      if (choice > 0) return;
    }
    this.#messages.splice(this.#messages.indexOf(message), 1);
    const { sent, answer } = message;
    if (answer === undefined || this.#underWay.get(sent.record) !== sent) return;
    this.#underWay.delete(sent.record);
    const isUnknown = sent.repeated && sent.deadline !== undefined && sent.command.does !== "name";
    if (isUnknown && sent.deadline !== undefined) sent.record.copyMayArrive(sent.deadline);
    this.#clock.latestMs = Math.max(this.#clock.latestMs, answer.serverMs);
    if (sent.limited) sent.record.seenServer(this.#clock, answer.serverMs);
    this.#wasRepeated = sent.repeated;
    this.#spends = choice === 4 && !this.#isFaultless;
    this.#isShort = choice === 3 && !this.#isFaultless;
    sent.answered(answer.answer);
    this.#spends = false;
    this.#drive();
  }

  #run(message: Message): void {
    const { command, notAfterMs, sent } = message;
    const before = JSON.stringify([...this.server.fields]);
    const answer = this.server.run(command, notAfterMs);
    const isOlder = sent.stay.isReused && sent.stay !== this.#chosen;
    if (isOlder && JSON.stringify([...this.server.fields]) !== before) {
      throw new Error(`${JSON.stringify(command)} of an earlier stay touches a later one`);
    }
    const other = this.#scripts?.run(command, notAfterMs, this.server.nowMs);
    this.#scripts?.compare(this.server.fields);
    if (other !== undefined && other !== answer) {
      throw new Error(`${JSON.stringify(command)}: the model answers ${answer}, the script ${other}`);
    }
    if (command.does === "acquire" && answer === "held") sent.stay.wasRemoved = false;
    message.answer = { answer, serverMs: this.server.nowMs };
  }

  /** What Redis has is what each record says that it may have. */
  #check(): void {
    for (const { inRedis, field, wasRemoved, chain, stay } of this.#stays) {
      // What a stay had that has handed its lock over is in the record of the latest one.
      if (chain !== undefined && chain.latest !== stay) continue;
      const fields = inRedis.names(field);
      const stored = fields.reduce((sum, name) => sum + (this.server.fields.get(name)?.length ?? 0), 0);
      const { lowestCount, highestCount } = inRedis;
      if (stored > highestCount || (!wasRemoved && stored < lowestCount)) {
        throw new Error(`${fields} has ${stored}, known are ${lowestCount} to ${highestCount}`);
      }
    }
  }

  /** From now on nothing goes wrong: each stay comes to rest, and what is stored is what is held. */
  #settle(): void {
    this.#isFaultless = true;
    for (let round = 0; round < MOST_ROUNDS; round += 1) {
      this.#drive();
      const [message] = this.#messages;
      if (message === undefined) break;
      this.#arrive(message, 0);
      this.#check();
    }
    if (this.#messages.length > 0) throw new Error("the stays do not come to rest");
    const wanted = new Map(
      this.#stays.filter(({ holds }) => holds.length > 0).map(({ field, holds }) => [field, holds.length]),
    );
    for (const [field, holds] of this.server.fields) {
      if ((wanted.get(field) ?? 0) !== holds.length) {
        throw new Error(`${field} has ${holds.length} in the end, ${wanted.get(field) ?? 0} are held`);
      }
    }
  }
}

const ACTIONS = 24;
/** The largest number of a sequence, and one more. */
export const CHOICES: number = ACTIONS * 5 * 8 * 9 * 7;
