import { OwnEnvironment } from "../world/own-environment.js";

/** In it nothing is left to chance, and the ids that one process draws do not hang on what the others do. */
export class ActorEnvironment extends OwnEnvironment {
  readonly #actor: () => string;
  readonly #drawn = new Map<string, number>();

  /** @param actor which process runs at present */
  constructor(actor: () => string) {
    super(() => 0);
    this.#actor = actor;
  }

  override randomHex(bytes: number): string {
    const actor = this.#actor();
    const nth = (this.#drawn.get(actor) ?? 0) + 1;
    this.#drawn.set(actor, nth);
    const name = Buffer.from(actor).toString("hex");
    return name + nth.toString(16).padStart(2 * bytes - name.length, "0");
  }
}
