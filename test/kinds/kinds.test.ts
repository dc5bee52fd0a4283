import { describe } from "vitest";
import { backends } from "../support/backends.js";
import { describeKinds } from "../support/kinds-runner.js";

describe.each(backends)("on $name", (backend) => describeKinds(backend));

/** Each command is about one lock, and each release frees it. One server is enough to tell whether that makes a difference. */
const settings = { groupCommit: false, handOff: false } as const;

describe.each(backends.slice(-1))("on $name, with commands and turns of their own", (backend) =>
  describeKinds(backend, { settings }),
);
