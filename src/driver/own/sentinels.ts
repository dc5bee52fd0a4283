import { systemClock, type Timer } from "../../clock.js";
import { inRootContext } from "../../root-context.js";
import { type CommandConnection, type ConnectionEvents, type OwnConnection, onlyEnd } from "./connection.js";
import { LiveConnection } from "./live-connection.js";
import { NextAnswer } from "./next-answer.js";

/** How an adapter opens connections to one Sentinel. */
export type OpenSentinel = (events: ConnectionEvents) => OwnConnection;

/** The answer of a Sentinel about the master. */
interface Word {
  /** The announced address of the master, "host:port". */
  readonly master: string;
  /** Grows with each master that Sentinels agree on. */
  readonly epoch: number;
  /** Whether this Sentinel is about to make another server the master. */
  readonly isFailingOver: boolean;
}

/** Sent by a Sentinel when it learns of another master. */
const SWITCHED = "+switch-master";
/**
 * Sent when a failover begins, by the Sentinel that leads it. The Sentinel promotes the chosen replica at least two ticks of its timer
 * later, about 0.1 s each.
 */
const BEGUN = "+try-failover";
/** A Sentinel that says nothing for this long counts as gone. */
const ANSWER_TIMEOUT_MS = 1_000;
/** Once most Sentinels have answered, the others get this much more time at most. */
const GRACE_MS = 50;
const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

/**
 * The Sentinels that watch one master: listens to all of them on extra connections, and asks them. If their answers differ, the Sentinel
 * with the highest epoch has the latest information.
 */
export class Sentinels {
  readonly #sentinels: readonly Sentinel[];
  readonly #told: (master: string) => void;
  #epoch = Number.POSITIVE_INFINITY;
  readonly #answer = new NextAnswer(() => inRootContext(() => this.#askAll()));

  /** @param told is called with the master each time the Sentinels have named it */
  constructor(openings: readonly OpenSentinel[], name: string, told: (master: string) => void) {
    this.#told = told;
    const heard = () => void this.ask();
    this.#sentinels = openings.map((open) => new Sentinel(open, name, heard));
  }

  /**
   * Whether a Sentinel has begun a failover and has not reported its end: the promoted replica may have left the old master, and the
   * replicas that remain there still acknowledge.
   */
  get isFailingOver(): boolean {
    return this.#sentinels.some(({ isFailingOver }) => isFailingOver);
  }

  /** Begins to listen. */
  listen(): void {
    inRootContext(() => {
      for (const sentinel of this.#sentinels) sentinel.listen();
    });
  }

  /**
   * Asks all Sentinels, and reports another master before it resolves. Never rejects.
   * @returns undefined if less than half of them answer
   */
  ask(): Promise<Word | undefined> {
    return this.#answer.get();
  }

  /** Rejects unless most Sentinels answer, and the latest answer names a master that no failover is replacing. */
  async confirm(): Promise<void> {
    const word = await this.ask();
    if (word === undefined) throw new Error("most Sentinels do not say who the master is");
    // The Sentinel that leads a failover may answer too late to be counted here.
    if (word.isFailingOver || this.isFailingOver)
      throw new Error("the Sentinels are about to make another server the master");
  }

  async close(): Promise<void> {
    await Promise.all(this.#sentinels.map((sentinel) => sentinel.close()));
  }

  #askAll(): Promise<Word | undefined> {
    return new Promise((resolve) => {
      const words: Word[] = [];
      const isMost = () => 2 * words.length > this.#sentinels.length;
      const end = () => {
        grace?.cancel();
        this.#judge(true);
        resolve(isMost() ? latestOf(words) : undefined);
      };
      let grace: Timer | undefined;
      const asked = this.#sentinels.map(async (sentinel) => {
        const word = await sentinel.ask();
        if (word === undefined) return;
        words.push(word);
        this.#judge(isMost());
        // The Sentinel that leads a failover may answer later than the majority.
        if (isMost()) grace ??= systemClock.schedule(GRACE_MS, end);
      });
      void Promise.all(asked).then(end);
    });
  }

  /** @param isSettled false while less than a majority has answered: a Sentinel that has not answered may know a later master */
  #judge(isSettled: boolean): void {
    const words = this.#sentinels.flatMap(({ word }) => (word === undefined ? [] : [word]));
    const latest = latestOf(words);
    if (latest === undefined || (!isSettled && latest.epoch <= this.#epoch)) return;
    this.#epoch = latest.epoch;
    this.#told(latest.master);
  }
}

/**
 * Among answers with the highest epoch, an answer that reports a failover counts first: it comes from the Sentinel that leads the
 * failover, and so knows more than the others.
 */
function latestOf(words: readonly Word[]): Word | undefined {
  const epoch = Math.max(...words.map((word) => word.epoch));
  const latest = words.filter((word) => word.epoch === epoch);
  return latest.find(({ isFailingOver }) => isFailingOver) ?? latest[0];
}

/** One Sentinel, with one connection that listens and another that asks: in RESP2 a connection that listens cannot send other commands. */
class Sentinel {
  readonly #open: OpenSentinel;
  readonly #name: string;
  readonly #heard: () => void;
  /** The Sentinel's latest answer; undefined while it does not answer. */
  word: Word | undefined;
  /** Whether a failover that this Sentinel has begun is in progress, according to its latest message or answer. */
  isFailingOver = false;
  /** How many failovers this Sentinel has begun. */
  #begun = 0;
  #listening: LiveConnection | undefined;
  #link: CommandConnection | undefined;
  #retry: Timer | undefined;
  /** How many connections failed in a row. */
  #failures = 0;
  #closed = false;

  /** @param heard is called when the Sentinel may have new information */
  constructor(open: OpenSentinel, name: string, heard: () => void) {
    this.#open = open;
    this.#name = name;
    this.#heard = heard;
  }

  listen(): void {
    if (this.#closed) return;
    const connection = new LiveConnection(this.#open, (error) => error, {
      onReady: () => {
        // An ACL may forbid this channel to the user. A failover is then noticed when replicas are missing, or when it is over.
        connection.subscribe(BEGUN).catch(() => undefined);
        connection.subscribe(SWITCHED).then(
          () => {
            this.#failures = 0;
            // The master may have changed before this subscription began.
            this.#heard();
          },
          () => this.#listenAgain(connection),
        );
      },
      onMessage: (channel) => {
        if (channel === BEGUN) {
          this.#begun += 1;
          this.isFailingOver = true;
        }
        this.#heard();
      },
      onEnd: () => this.#listenAgain(connection),
    });
    this.#listening = connection;
  }

  /** Undefined if the Sentinel does not answer, or knows no master of that name. Never rejects. */
  async ask(): Promise<Word | undefined> {
    if (this.#closed) return undefined;
    const link = this.#reach();
    const begun = this.#begun;
    const timeout = systemClock.schedule(ANSWER_TIMEOUT_MS, () => this.#leave(link));
    try {
      // The order matters. If a failover comes between the two answers, this order pairs the old epoch with the new master. The other order
      // would pair the new epoch with the old master, and that wrong answer would win.
      const [state, address] = await Promise.all([
        // Ignored if the user lacks the right to ask this: without epochs the Sentinels count as equally informed.
        link.send(["SENTINEL", "MASTER", this.#name]).catch(() => undefined),
        link.send(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", this.#name]),
      ]);
      this.word = wordOf(fieldsOf(state), address);
    } catch {
      this.#leave(link);
      this.word = undefined;
    } finally {
      timeout.cancel();
    }
    // An answer from before a failover does not know about the failover.
    if (begun === this.#begun) this.isFailingOver = this.word?.isFailingOver ?? false;
    return this.word;
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.word = undefined;
    this.#retry?.cancel();
    await Promise.all([this.#listening?.close(), this.#link?.close()]);
  }

  #reach(): CommandConnection {
    if (this.#link !== undefined) return this.#link;
    const link = this.#open(
      onlyEnd(() => {
        if (this.#link === link) this.#link = undefined;
      }),
    );
    this.#link = link;
    return link;
  }

  #leave(link: CommandConnection): void {
    if (this.#link === link) this.#link = undefined;
    void link.close();
  }

  #listenAgain(connection: LiveConnection): void {
    if (this.#listening !== connection || this.#closed) return;
    this.#listening = undefined;
    this.word = undefined;
    void connection.close();
    const delayMs = Math.min(FIRST_RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS);
    this.#failures += 1;
    this.#retry = systemClock.schedule(delayMs, () => this.listen());
  }
}

function wordOf(state: ReadonlyMap<string, string>, address: unknown): Word | undefined {
  if (!Array.isArray(address)) return undefined;
  const master = address.join(":");
  // After a failover SENTINEL GET-MASTER-ADDR-BY-NAME names the new master at once, while SENTINEL MASTER still describes the old one for a
  // while.
  const isMade = `${state.get("ip")}:${state.get("port")}` !== master;
  const isFailingOver = !isMade && (state.get("flags") ?? "").includes("failover_in_progress");
  return { master, epoch: Number(state.get("config-epoch") ?? 0), isFailingOver };
}

/** A list in which names and values alternate, or the object that a Redis client has made from it. */
export function fieldsOf(reply: unknown): ReadonlyMap<string, string> {
  if (reply === null || typeof reply !== "object") return new Map();
  if (!Array.isArray(reply)) return new Map(Object.entries(reply as Record<string, string>));
  return new Map(reply.flatMap((word, at) => (at % 2 === 0 ? [[String(word), String(reply[at + 1])]] : [])));
}
