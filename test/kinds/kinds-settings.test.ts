import { describe } from "vitest";
import { describeKinds } from "../support/models/kinds-runner.js";
import { embedded } from "../support/servers/backends.js";

/** Each command is about one lock, and each release frees it. One server is enough to tell whether that makes a difference. */
const settings = { groupCommit: false, handOff: false } as const;

describe(`on ${embedded.name}, with commands and turns of their own`, () =>
  describeKinds(embedded, { settings }));
