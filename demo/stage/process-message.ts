import type { Report } from "../tasks/task.js";
import type { Order } from "./worker.js";

/** What the demo says to a worker process. The URL travels here, since the arguments of a process are public. */
export type Command =
  | { readonly say: "connect"; readonly url: string; readonly prefix: string }
  | { readonly say: "work"; readonly order: Order }
  | { readonly say: "go on" }
  | { readonly say: "end" };

/** What a worker process answers. */
export type Answer =
  | { readonly say: "ready" }
  | { readonly say: "report"; readonly report: Report }
  | { readonly say: "done"; readonly result: unknown }
  | { readonly say: "failed"; readonly message: string };
