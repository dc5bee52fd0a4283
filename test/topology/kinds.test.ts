import { describe } from "vitest";
import { allPairs } from "../support/all-pairs.js";
import { backendOf } from "../support/backends.js";
import { describeKinds } from "../support/kinds-runner.js";
import { pairs } from "../support/pairs.js";

/** The long campaign plays all of them; one on one server is played with the kinds. */
const all = process.env["HOLDFAST_PAIRS"] === "all";
const played = pairs.filter(
  ({ topology, client }) => all || (topology === "cluster" && client === "ioredis 6"),
);

describe.each(played)("$client on the topology: $topology", (pair) =>
  describeKinds(backendOf(pair), { only: "what hangs on drivers" }),
);
