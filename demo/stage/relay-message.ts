import type { RawReply, ScriptCall } from "holdfast";

/** What a worker process asks of the server that only the demo's own process has. */
export type RelayRequest =
  | { readonly what: "run"; readonly call: ScriptCall }
  | { readonly what: "subscribe" | "unsubscribe"; readonly channel: string }
  | { readonly what: "read" }
  | { readonly what: "write"; readonly left: number }
  | { readonly what: "write fenced"; readonly left: number; readonly token: bigint };

/** What it hears: the outcome of a request, by its number, and what happens on a channel. */
export type RelayNews =
  | { readonly what: "done"; readonly id: number; readonly result: unknown }
  | { readonly what: "failed"; readonly id: number; readonly message: string }
  | { readonly what: "message"; readonly channel: string; readonly message: string }
  | { readonly what: "ready"; readonly channel: string };

/** The result of each request. */
export type RelayResult = RawReply | boolean | undefined;
