import { cutAll, type Fault, MS, spanUs } from "./fault.js";

/** No lease of a red lock is longer: a server that has lost its data stays away for so long. */
const LONGEST_LEASE_US = 35_000 * MS;

/** What befalls one server, and so everybody. */
export const serverFaults = {
  "server stands still": {
    befalls: "server",
    strike({ server, stream, reach }) {
      const us = spanUs(stream);
      server.gate.shut();
      reach.time.after(us, () => server.gate.open());
      return us;
    },
  },
  "server restarts": {
    befalls: "server",
    strike(hit) {
      hit.server.forgetScripts();
      return cutAll(hit.server, hit);
    },
  },
  "scripts flushed": {
    befalls: "server",
    strike({ server }) {
      server.forgetScripts();
      return 0;
    },
  },
  "server full": {
    befalls: "server",
    strike({ server, stream, reach }) {
      const us = spanUs(stream);
      server.isFull = true;
      reach.time.after(us, () => {
        server.isFull = false;
      });
      return us;
    },
  },
  "member restarts empty": {
    befalls: "server",
    only: ["red"],
    strike(hit) {
      const { server, reach } = hit;
      server.gate.shut();
      const lastsUs = cutAll(server, hit);
      reach.time.after(LONGEST_LEASE_US, () => {
        server.empty();
        server.forgetScripts();
        server.gate.open();
      });
      return LONGEST_LEASE_US + lastsUs;
    },
  },
} satisfies Record<string, Fault>;
