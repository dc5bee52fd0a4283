import type { InspectOptions } from "node:util";

type Show = (value: unknown, options: InspectOptions) => string;

/**
 * Makes logs show objects of a class by the name of the class and the values that `JSON.stringify` shows, without private fields. Call it
 * after the class: the class can not have a method with this computed name, because declarations are generated file by file.
 */
export function showInLogs({ prototype }: { readonly prototype: { toJSON(): object } }, as: string): void {
  Object.defineProperty(prototype, Symbol.for("nodejs.util.inspect.custom"), {
    value(this: { toJSON(): object }, _depth: number, options: InspectOptions, show: Show) {
      return `${as} ${show(this.toJSON(), options)}`;
    },
  });
}

/** A state whose fencing token is text in JSON, which has no `bigint`. */
export function withToken<State extends { readonly token: bigint | null }>(state: State): State {
  const { token } = state;
  if (token === null) return state;
  return Object.defineProperty(state, "toJSON", { value: () => ({ ...state, token: String(token) }) });
}
