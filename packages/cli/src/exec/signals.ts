/** Those that end holdfast while it waits, and are passed on once the command runs. */
export const endingSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
/** Those that are passed on besides, and do nothing while it waits. */
const OTHERS: readonly NodeJS.Signals[] = ["SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT"];
/** Those that stop a job of a shell. */
export const stoppingSignals: readonly NodeJS.Signals[] = ["SIGTSTP", "SIGTTIN"];
/** Those that a terminal sends to all of its foreground group, and so to the command as well. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

type Handler = (signal: NodeJS.Signals) => void;

/** @returns what ends it */
export function onSignals(signals: readonly NodeJS.Signals[], handler: Handler): () => void {
  for (const signal of signals) process.on(signal, handler);
  return () => {
    for (const signal of signals) process.off(signal, handler);
  };
}

/** Whether a signal that holdfast gets is to be passed on to the command. */
export function isPassedOn(signal: NodeJS.Signals, isGroup: boolean): boolean {
  return isGroup || !OF_TERMINALS.includes(signal);
}

/**
 * Where the signals of this process go: while no command runs, those that end it abort `ended`, and the others are dropped. None ends the
 * process by itself from here to `close`.
 */
export class SignalRoute {
  readonly #ended = new AbortController();
  readonly #silence: () => void;
  #handler: Handler | undefined;

  constructor() {
    this.#silence = onSignals([...endingSignals, ...OTHERS], (signal) => {
      if (this.#handler !== undefined) this.#handler(signal);
      else if (endingSignals.includes(signal)) this.#ended.abort(new Cancelled(signal));
    });
  }

  /** Aborts with a {@link Cancelled}. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Gives them to another. @returns what ends that */
  to(handler: Handler): () => void {
    this.#handler = handler;
    return () => {
      this.#handler = undefined;
    };
  }

  close(): void {
    this.#silence();
  }
}

/** holdfast was sent a signal that ends it while no command ran. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`cancelled by ${signal}`);
    this.signal = signal;
  }
}
