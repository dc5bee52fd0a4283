import { latchChannel } from "../../src/protocol/names.js";
import {
  actors,
  type Difference,
  HOUR_MS,
  NAME,
  SHORT_MS,
  type SynchronizerScenario,
} from "./synchronizer-steps.js";

const { a, b, c } = actors("count-down-latch");

const opened: Difference = { row: "Deleting a latch", messages: [`0 -> ${latchChannel(NAME)}`] };

export const latchScenarios: readonly SynchronizerScenario[] = [
  {
    title: "latch: set once, and counted down",
    steps: [
      b("getCount"),
      a("trySetCount", { count: 2 }),
      b("trySetCount", { count: 3 }),
      b("getCount"),
      a("countDown"),
      b("countDown"),
      b("countDown"),
      a("await"),
      a("trySetCount", { count: 1 }),
    ],
  },
  {
    title: "latch: deleted",
    steps: [a("trySetCount", { count: 2 }), a("delete", {}, opened), b("delete"), a("getCount")],
  },
  {
    title: "latch: waited for",
    steps: [a("trySetCount", { count: 1 }), b("waits"), a("countDown"), b("is answered")],
  },
  {
    title: "latch: waited for, with a limit, and counted down by two",
    steps: [
      a("trySetCount", { count: 2 }),
      b("waits", { waitMs: HOUR_MS }),
      a("countDown"),
      c("countDown"),
      b("is answered"),
    ],
  },
  {
    title: "latch: waited for in vain",
    steps: [
      a("trySetCount", { count: 1 }),
      b("waits", { waitMs: SHORT_MS }),
      b("is answered"),
      a("countDown"),
    ],
  },
  {
    title: "latch: waited for, deleted and set anew",
    steps: [
      a("trySetCount", { count: 1 }),
      b("waits"),
      a("delete", {}, opened),
      a("trySetCount", { count: 1 }),
      a("countDown"),
      b("is answered"),
    ],
  },
];
