import { pick } from "../draw.js";
import { cutTerms, type Fault, MS, spanUs } from "./fault.js";

/** What befalls the connections of one process. */
export const connectionFaults = {
  cut: {
    befalls: "commands",
    strike({ line: { commands }, stream }) {
      const terms = cutTerms(stream, commands.inTransit);
      commands.cut(terms);
      return terms.lastsUs;
    },
  },
  "late copy": {
    befalls: "commands",
    strike({ line: { commands }, stream }) {
      const terms = cutTerms(stream, commands.inTransit);
      const lateUs = pick(stream, [50, 300, 2_000, 10_000]) * MS;
      commands.cut({ ...terms, there: 0, lateUs });
      return Math.max(terms.lastsUs, lateUs);
    },
  },
  "half-open": {
    befalls: "commands",
    strike({ line: { commands }, stream }) {
      const terms = cutTerms(stream, commands.inTransit);
      const noticeUs = pick(stream, [500, 3_000, 15_000]) * MS;
      commands.cut({ ...terms, noticeUs });
      return noticeUs + terms.reconnectUs;
    },
  },
  "messages cut": {
    befalls: "messages",
    strike({ line: { messages }, stream }) {
      const terms = cutTerms(stream, messages.inTransit);
      messages.cut(terms, pick(stream, [0, 100_000, 5_000_000]));
      return terms.lastsUs;
    },
  },
  "messages half-open": {
    befalls: "messages",
    strike({ line: { messages }, stream }) {
      const terms = cutTerms(stream, messages.inTransit);
      const noticeUs = pick(stream, [500, 3_000, 15_000]) * MS;
      messages.cut({ ...terms, noticeUs }, pick(stream, [0, 100_000, 20_000_000]));
      return noticeUs + terms.reconnectUs;
    },
  },
  "slow requests": {
    befalls: "commands",
    strike({ line, stream }) {
      return line.commands.hold("there", spanUs(stream));
    },
  },
  "slow replies": {
    befalls: "commands",
    strike({ line, stream }) {
      return line.commands.hold("back", spanUs(stream));
    },
  },
  "slow messages": {
    befalls: "messages",
    strike({ line, stream }) {
      return line.messages.hold(spanUs(stream));
    },
  },
  "message lost": {
    befalls: "messages",
    strike({ line, node, reach }) {
      // The next one may come much later.
      line.messages.loseNext(() => reach.trouble.begin("message lost", node.process.name, 0, false));
      return 0;
    },
  },
} satisfies Record<string, Fault>;

/** Those that only a schedule about one thing has: they do what is rarest among the others. */
export const rareFaults = {
  "answers lost": {
    befalls: "commands",
    strike({ line: { commands }, stream }) {
      const { there } = commands.inTransit;
      const reconnectUs = pick(stream, [1, 50, 100, 300]) * MS;
      commands.cut({ there, back: 0, lateUs: undefined, noticeUs: 0, reconnectUs });
      return reconnectUs;
    },
  },
  /** What was asked for is done, and nobody hears of it for longer than a lease may last. */
  "late answers": {
    befalls: "commands",
    strike({ line, stream }) {
      return line.commands.hold("back", pick(stream, [1_200, 800, 2_000]) * MS);
    },
  },
  "refuses for a moment": {
    befalls: "server",
    strike({ server, stream, reach }) {
      const us = pick(stream, [300, 500, 1_200]) * MS;
      server.isReadOnly = true;
      reach.time.after(us, () => {
        server.isReadOnly = false;
      });
      return us;
    },
  },
  "late messages": {
    befalls: "messages",
    strike({ line, stream }) {
      return line.messages.hold(pick(stream, [300, 100, 800]) * MS);
    },
  },
  /** All that has come to it meanwhile it does in one moment. */
  "server pauses": {
    befalls: "server",
    strike({ server, stream, reach }) {
      const us = pick(stream, [80, 30, 200]) * MS;
      server.gate.shut();
      reach.time.after(us, () => server.gate.open());
      return us;
    },
  },
} satisfies Record<string, Fault>;
