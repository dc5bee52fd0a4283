import { pick } from "../draw.js";
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
  "server-emptied": {
    befalls: "server",
    only: ["standalone"],
    isForLocks: true,
    strike(hit) {
      hit.server.empty();
      hit.reach.losses.lost(true);
      hit.server.forgetScripts();
      return cutAll(hit.server, hit);
    },
  },
  "server-older": {
    befalls: "server",
    only: ["standalone"],
    isForLocks: true,
    strike(hit) {
      const { server, stream, reach } = hit;
      const data = server.copy();
      const { replacements } = server;
      const us = pick(stream, [20, 300, 2_000]) * MS;
      reach.time.after(us, () => {
        // By now another one may be there, which never had it.
        if (server.replacements !== replacements) return;
        server.become(data, server.offset);
        reach.losses.lost(true);
        server.forgetScripts();
        cutAll(server, hit);
      });
      return us + 3_000 * MS;
    },
  },
  "server-clock-step": {
    befalls: "server",
    only: ["standalone"],
    isForLocks: true,
    strike({ server, stream, reach }) {
      server.stepClock(pick(stream, [50, 1_000, 60_000]));
      reach.losses.lost(false);
      return 0;
    },
  },
  "server behind takes over": {
    befalls: "server",
    only: ["standalone"],
    strike(hit) {
      const behindMs = pick(hit.stream, [5_000, 500, 30_000]);
      hit.server.replace(-behindMs);
      // What it has had from the first lives longer by so much, and copies of commands of that time count for as much longer.
      return Math.max(cutAll(hit.server, hit), hit.server.setBackMs * MS);
    },
  },
  "server ahead takes over": {
    befalls: "server",
    only: ["standalone"],
    isForLocks: true,
    strike(hit) {
      hit.server.replace(pick(hit.stream, [5_000, 500, 30_000]));
      hit.reach.losses.lost(false);
      return cutAll(hit.server, hit);
    },
  },
  "PUBLISH refused": {
    befalls: "server",
    strike({ server, stream, reach }) {
      const us = spanUs(stream);
      server.refusesPublish = true;
      reach.time.after(us, () => {
        server.refusesPublish = false;
      });
      return us;
    },
  },
  "server read-only": {
    befalls: "server",
    only: ["standalone", "red"],
    strike({ server, stream, reach }) {
      const us = spanUs(stream);
      server.isReadOnly = true;
      reach.time.after(us, () => {
        server.isReadOnly = false;
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
