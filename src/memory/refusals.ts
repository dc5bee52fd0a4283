/** The calls that a server should refuse. */
export interface RefusedCalls {
  /** The answer, which begins with a code: `OOM command not allowed when used memory > 'maxmemory'.` */
  readonly error: string;
  /** Refuses only this command, wherever a script calls it. Default: refuses whole scripts, before they do anything. */
  readonly command?: string;
  /** Refuses only in this script of holdfast, named as in the event `holdfast:command:start`. Default: in all scripts. */
  readonly script?: string;
}

/** The calls that a server currently refuses. */
export class Refusals {
  readonly #all = new Set<RefusedCalls>();
  /** The running script. */
  #script = "";

  /** @returns a function that ends this refusal */
  add(calls: RefusedCalls): () => void {
    if (!/^[A-Z][A-Z0-9]* /.test(calls.error)) {
      throw new TypeError(
        `error must begin with a code of Redis, as in "NOPERM this user has no permissions", got ${JSON.stringify(calls.error)}`,
      );
    }
    this.#all.add(calls);
    return () => void this.#all.delete(calls);
  }

  /** The answer to a script that begins now; undefined if it may run. */
  ofScript(name: string): string | undefined {
    this.#script = name;
    return this.#first(undefined);
  }

  /** The answer to a command of the running script. */
  ofCommand(name: string): string | undefined {
    return this.#all.size === 0 ? undefined : this.#first(name.toUpperCase());
  }

  #first(command: string | undefined): string | undefined {
    for (const one of this.#all) {
      const isOfScript = one.script === undefined || one.script === this.#script;
      if (isOfScript && one.command?.toUpperCase() === command) return one.error;
    }
    return undefined;
  }
}
