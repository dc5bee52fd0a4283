import { describe } from "vitest";
import { describeKinds } from "../support/models/kinds-runner.js";
import { backends } from "../support/servers/backends.js";

describe.each(backends)("on $name", (backend) => describeKinds(backend));
