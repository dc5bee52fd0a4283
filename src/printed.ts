import { type InspectOptions, inspect } from "node:util";

/** The name of the method by which Node logs an object. */
export const inLogs: typeof inspect.custom = inspect.custom;

/** What Node gives to the method `util.inspect.custom` of an object that is logged. */
export type LogArguments = readonly [
  depth: number,
  options: InspectOptions,
  show: (value: unknown, options: InspectOptions) => string,
];

/** What a log shows of an object: what it is called, and the values that `JSON.stringify` shows as well; nothing of its insides. */
export function printed(as: string, values: object, [, options, show]: LogArguments): string {
  return `${as} ${show(values, options)}`;
}

/** A state whose fencing token is text in JSON, which has no `bigint`. */
export function withToken<State extends { readonly token: bigint | null }>(state: State): State {
  const { token } = state;
  if (token === null) return state;
  return Object.defineProperty(state, "toJSON", { value: () => ({ ...state, token: String(token) }) });
}
