import type { Report } from "../tasks/task.js";
import type { RelayNews, RelayRequest } from "./relay-message.js";
import type { Order } from "./worker.js";

/** What the demo says to a worker process. The URL travels here, since the arguments of a process are public. */
export type Command =
  /** Without a URL the server is the demo's own process. */
  | { readonly say: "connect"; readonly url: string | undefined; readonly prefix: string }
  | { readonly say: "work"; readonly order: Order }
  | { readonly say: "go on" }
  | { readonly say: "cut" }
  | { readonly say: "relayed"; readonly news: RelayNews }
  | { readonly say: "end" };

/** What a worker process answers. */
export type Answer =
  | { readonly say: "ready" }
  | { readonly say: "report"; readonly report: Report }
  | { readonly say: "relay"; readonly id: number; readonly request: RelayRequest }
  | { readonly say: "cut off" }
  | { readonly say: "done"; readonly result: unknown }
  | { readonly say: "failed"; readonly message: string };
