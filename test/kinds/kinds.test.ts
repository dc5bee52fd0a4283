import { describe } from "vitest";
import { backends } from "../support/backends.js";
import { describeKinds } from "../support/kinds-runner.js";

describe.each(backends)("on $name", (backend) => describeKinds(backend));
