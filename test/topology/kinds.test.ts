import { describe } from "vitest";
import { allPairs } from "../support/clients/all-pairs.js";
import { pairs } from "../support/clients/pairs.js";
import { describeKinds } from "../support/models/kinds-runner.js";
import { backendOf } from "../support/servers/backends.js";

/** One on one server is played with the kinds. */
const played = pairs.filter(
  ({ topology, client }) => allPairs || (topology === "cluster" && client === "ioredis 6"),
);

describe.each(played)("$client on the topology: $topology", (pair) =>
  describeKinds(backendOf(pair), { only: "what hangs on drivers" }),
);
