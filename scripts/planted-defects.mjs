// @ts-check

/**
 * @typedef {object} Planted a defect that `npm test` has to see
 * @property {string} name one of test/simulation/defects where there is no `find`
 * @property {string[]} near the tests that are about it, which are run first
 * @property {string} [promise] what is broken for a user
 * @property {string} [find] what stands once in src/driver/, in whichever file
 * @property {string} [replace]
 */

/** @type {Planted[]} */
const protocol = [
  { name: "counted-up", near: ["test/kinds/kinds", "test/locks/hand-off"] },
  { name: "release-frees-anybody", near: ["test/locks/", "test/kinds/kinds"] },
  { name: "token-drawn-by-a-repeat", near: ["test/kinds/fenced", "test/faults/"] },
  { name: "jumps-the-queue", near: ["test/unit/fair-acquire", "test/kinds/fair"] },
  { name: "reader-keys-not-renewed", near: ["test/kinds/read-write"] },
  { name: "latch-opens-early", near: ["test/synchronizers/latch"] },
  { name: "answers-not-remembered", near: ["test/synchronizers/semaphore"] },
];

/** @type {Planted[]} */
const core = [
  { name: "trust-from-reply", near: ["test/locks/lease", "test/unit/commands"] },
  { name: "no-margin", near: ["test/locks/lease", "test/locks/watchdog"] },
  { name: "watchdog-too-late", near: ["test/locks/watchdog"] },
  { name: "no-safety-period", near: ["test/unit/wait-lines", "test/locks/"] },
  { name: "red-minority", near: ["test/kinds/red-lock"] },
  { name: "multi-keeps-a-part", near: ["test/kinds/multi-lock"] },
  { name: "close-forgets-a-waiter", near: ["test/locks/close", "test/kinds/kinds"] },
];

/** @type {Planted[]} */
const adapters = [
  {
    name: "loss-not-counted",
    promise: "Of a client of ioredis is known how often its connection was lost.",
    near: ["test/unit/ioredis", "test/conformance/ioredis"],
    find: "    if (!this.#ready) return;\n    this.#ready = false;",
    replace: "    if (this.#ready) return;\n    this.#ready = false;",
  },
  {
    name: "loss-counted-backwards",
    promise: "Of a client of node-redis is known how often its connection was lost.",
    near: ["test/unit/node-redis", "test/conformance/node-redis"],
    find: "if (losses > known) this.add(losses - known);",
    replace: "if (losses < known) this.add(known - losses);",
  },
  {
    name: "message-before-its-subscription",
    promise: "A message that arrives together with the answer to SUBSCRIBE is delivered.",
    near: ["test/unit/channel-table"],
    find: 'if (channel.phase === "joining") confirm(channel);',
    replace: 'if (channel.phase === "joining") return;',
  },
  {
    name: "never-asking",
    promise: "A key whose slot is being moved is asked for where it is.",
    near: ["test/unit/cluster", "test/unit/slots"],
    find: 'asking = code === "ASK";',
    replace: "asking = false;",
  },
  {
    name: "moves-not-noticed",
    promise: "A slot that has another master than before is noticed.",
    near: ["test/unit/"],
    find: "if (master === undefined || master === before) continue;",
    replace: "if (master === undefined || master !== before) continue;",
  },
  {
    name: "code-in-glide-words",
    promise: "Answers of a server have the server's own codes with GLIDE as well.",
    near: ["test/unit/valkey-glide", "test/conformance/valkey-glide.test"],
    find: '(codes[word] ?? word.replace(/Error$/, "").toUpperCase())',
    replace: 'word.replace(/Error$/, "").toUpperCase()',
  },
];

export const planted = [...protocol, ...core, ...adapters];
