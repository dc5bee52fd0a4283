import type { InspectOptions } from "node:util";

type Show = (value: unknown, options: InspectOptions) => string;

/**
 * Has logs show, of objects of a class, what it is called and the values that `JSON.stringify` shows as well; nothing of their insides. Put
 * behind the class, since declarations are made of each file by itself, which excludes methods with computed names.
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
