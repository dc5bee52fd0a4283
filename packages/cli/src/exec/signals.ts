/** Signals that end holdfast while it waits, and are passed on once the command runs. */
export const endingSignals: readonly NodeJS.Signals[] = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"];
/** Further signals that are passed on. While holdfast waits they have no effect. */
const OTHERS: readonly NodeJS.Signals[] = ["SIGUSR1", "SIGUSR2", "SIGWINCH", "SIGCONT"];
/** Signals that stop a job of a shell. */
export const stoppingSignals: readonly NodeJS.Signals[] = ["SIGTSTP", "SIGTTIN"];
/** Signals that a terminal sends to its whole foreground group, and so to the command as well. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ["SIGINT", "SIGQUIT"];

type Handler = (signal: NodeJS.Signals) => void;

/** @returns a function that removes the handler */
export function onSignals(signals: readonly NodeJS.Signals[], handler: Handler): () => void {
  for (const signal of signals) process.on(signal, handler);
  return () => {
    for (const signal of signals) process.off(signal, handler);
  };
}

/** Whether a signal that holdfast gets must be passed on to the command. */
export function isPassedOn(signal: NodeJS.Signals, isGroup: boolean): boolean {
  return isGroup || !OF_TERMINALS.includes(signal);
}

/**
 * Handles the signals of this process. While no command runs, signals that end the process abort `ended`, and others are dropped. Until
 * `close`, none of these signals ends the process by itself.
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

  /** Passes the signals to another handler. @returns a function that stops this */
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

/** While no command ran, holdfast got a signal that ends it. */
export class Cancelled extends Error {
  override readonly name = "Cancelled";
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`cancelled by ${signal}`);
    this.signal = signal;
  }
}
