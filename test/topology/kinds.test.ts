import { describe } from "vitest";
import { allPairs } from "../support/all-pairs.js";
import { backendOf } from "../support/backends.js";
import { describeKinds } from "../support/kinds-runner.js";
import { pairs } from "../support/pairs.js";

/** One on one server is played with the kinds. */
const played = pairs.filter(
  ({ topology, client }) => allPairs || (topology === "cluster" && client === "ioredis 6"),
);

describe.each(played)("$client on the topology: $topology", (pair) =>
  describeKinds(backendOf(pair), { only: "what hangs on drivers" }),
);
