import fc from "fast-check";
import { presenceClientKey, presenceClientsKey } from "../../../src/protocol/names.js";
import { presenceLeave, presenceList, presenceTell } from "../../../src/protocol/presence-scripts.js";
import { type Step, textOf, withRepeats, words } from "../servers/command-histories.js";
import { epochFarOffMs, type Names } from "../servers/server-histories.js";

const CLIENTS = ["c0000000-0000-8001-8000-000000000000", "c0000000-0000-8002-8000-000000000000", "client"];

/** What clients tell their groups and read of them. Nobody else writes other types there: the scripts end with an error then. */
export function presenceHistories({ objects }: Names): fc.Arbitrary<readonly Step[]> {
  const group = fc.constantFrom(...objects);
  const clientId = fc.constantFrom(...CLIENTS);
  const meta = fc.constantFrom("", '{"app":"hölder"}');
  const tell = fc
    .record({
      group,
      clientId,
      notAfterMs: fc.constantFrom(epochFarOffMs, epochFarOffMs, epochFarOffMs, 1),
      beat: fc.nat(4),
      everyMs: fc.constantFrom(5_000, 10_000),
      leastMs: fc.constant(5_000),
      keepMs: fc.constant(3_600_000),
      meta,
      live: meta,
    })
    .map((told) => presenceTell.encode(told));
  const leave = fc.record({ group, clientId }).map((left) => presenceLeave.encode(left));
  const list = fc
    .record({
      group,
      next: fc.record({ fromScore: fc.constantFrom("-inf", "1"), skip: fc.nat(1) }),
      limit: fc.nat(3),
      roomBytes: fc.constantFrom(10, 10_000),
      mostBytes: fc.constantFrom(4, 1_000),
      page: fc.array(fc.record({ clientId, liveAt: fc.constantFrom("", "1") }), { maxLength: 3 }),
    })
    .map((page) => presenceList.encode(page));
  const scripts = fc
    .oneof({ weight: 3, arbitrary: tell }, { weight: 1, arbitrary: leave }, { weight: 2, arbitrary: list })
    .map((call) => ({ ...call, [fc.toStringMethod]: () => textOf(call) }));
  const keys = fc
    .tuple(group, clientId)
    .chain(([name, id]) => fc.constantFrom(presenceClientsKey(name), presenceClientKey(name, id)));
  return withRepeats(
    fc.oneof(
      { weight: 12, arbitrary: scripts },
      { weight: 1, arbitrary: words(fc.constantFrom("DEL", "PERSIST"), keys) },
      { weight: 1, arbitrary: words("PEXPIRE", keys, "60000") },
      { weight: 1, arbitrary: fc.record({ full: fc.boolean() }) },
    ),
  );
}
