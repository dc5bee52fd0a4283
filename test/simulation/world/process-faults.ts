import { oneIn, pick } from "../draw.js";
import { type Fault, spanUs } from "./fault.js";

/** What befalls one process. */
export const processFaults = {
  stop: {
    befalls: "process",
    strike({ node: { process }, stream, reach }) {
      const us = spanUs(stream);
      process.stop();
      reach.time.after(us, () => process.continue());
      return us;
    },
  },
  suspend: {
    befalls: "process",
    strike({ node: { process }, stream, reach }) {
      const us = spanUs(stream);
      process.suspend();
      reach.time.after(us, () => process.continue());
      return us;
    },
  },
  stall: {
    befalls: "process",
    strike({ node: { process }, stream, reach: { trouble } }) {
      const us = spanUs(stream);
      const begins = (lastsUs: number) => trouble.begin("stall", process.name, lastsUs, false);
      process.stallAt(1 + stream.choose(12), us, begins);
      return us;
    },
  },
  "clock step": {
    befalls: "process",
    strike({ node: { process }, stream }) {
      process.stepWall(pick(stream, [50, -50, 3_600_000, -3_600_000]));
      return 0;
    },
  },
  kill: {
    befalls: "process",
    strike({ node, stream, reach }) {
      node.process.kill();
      const serverNoticesUs = pick(stream, [0, 100_000, 60_000_000]);
      for (const { commands, messages } of node.lines) {
        commands.end();
        messages.end(serverNoticesUs);
      }
      if (oneIn(stream, 2)) reach.time.after(spanUs(stream), () => reach.restart(node));
      return 0;
    },
  },
} satisfies Record<string, Fault>;
