/** What a client of the model sends about one lock. */
export type ModelCommand =
  | { readonly does: "acquire"; readonly field: string; readonly heldCount: number; readonly ask: number }
  | {
      readonly does: "release";
      readonly fields: readonly string[];
      readonly heldCount: number;
      readonly keptCount: number;
    }
  | { readonly does: "name"; readonly successor: string; readonly predecessors: readonly string[] };

export type ModelAnswer = "held" | "busy" | "lost" | "late" | "miscounted" | "released" | "absent";

/** By field, which acquisition has brought each of the counted holds. */
export type StoredHolds = ReadonlyMap<string, readonly number[]>;

/** One lock on a server, as lock-acquire, lock-release and lock-succeed keep it, without TTLs. */
export class ModelLockServer {
  nowMs = 1_000;
  readonly #fields = new Map<string, readonly number[]>();

  get fields(): StoredHolds {
    return this.#fields;
  }

  /** @param notAfterMs 0: no limit */
  run(command: ModelCommand, notAfterMs: number): ModelAnswer {
    if (notAfterMs > 0 && this.nowMs > notAfterMs) return "late";
    switch (command.does) {
      case "acquire":
        return this.#acquire(command.field, command.heldCount, command.ask);
      case "release": {
        const answers = command.fields.map((field) => this.#release(field, command));
        return answers.find((answer) => answer !== "absent") ?? "absent";
      }
      case "name":
        return this.#name(command.successor, command.predecessors);
    }
  }

  /** Force-unlock, or a TTL that has passed. */
  removeAll(): void {
    this.#fields.clear();
  }

  #acquire(field: string, heldCount: number, ask: number): ModelAnswer {
    const holds = this.#fields.get(field);
    if (holds === undefined && heldCount > 0) return "lost";
    if (holds === undefined && this.#fields.size > 0) return "busy";
    const count = holds?.length ?? 0;
    if (count !== heldCount && count !== heldCount + 1) return "miscounted";
    if (count === heldCount) this.#fields.set(field, [...(holds ?? []), ask]);
    return "held";
  }

  #release(field: string, { heldCount, keptCount }: ModelCommand & { does: "release" }): ModelAnswer {
    const holds = this.#fields.get(field);
    if (holds === undefined) return "absent";
    if (keptCount === 0) this.#fields.delete(field);
    else if (holds.length < keptCount || holds.length > heldCount) return "miscounted";
    else this.#fields.set(field, holds.slice(0, keptCount));
    return "released";
  }

  #name(successor: string, predecessors: readonly string[]): ModelAnswer {
    if (this.#fields.has(successor)) return "held";
    const predecessor = predecessors.find((field) => this.#fields.has(field));
    if (predecessor === undefined) return "lost";
    const [ask = 0] = this.#fields.get(predecessor) ?? [];
    this.#fields.set(successor, [ask]);
    this.#fields.delete(predecessor);
    return "held";
  }
}
