import type { LockRow } from "../../../src/inspector/format.js";
import type { Words } from "../words/en.js";
import { useWords } from "./page-context.js";

/** The special properties of a lock. Each badge has words, because many people cannot use colour alone. */
export function Badges({ lock }: { readonly lock: LockRow }) {
  const words = useWords();
  return (
    <>
      {badgesOf(words, lock).map(({ name, text, why }) => (
        <span key={name} class={`badge ${name}`} title={why}>
          {text}
        </span>
      ))}
    </>
  );
}

interface Badge {
  readonly name: string;
  readonly text: string;
  readonly why: string;
}

function badgesOf(words: Words, { flags, holders, more }: LockRow): Badge[] {
  const badges: Badge[] = [];
  const gone = holders.filter(({ client }) => client?.state === "gone").length;
  if (flags.includes("stale")) badges.push({ name: "stale", text: words.stale, why: words.staleWhy });
  else if (flags.includes("leaked")) badges.push({ name: "stale", text: words.leaked, why: words.leakedWhy });
  else if (gone > 0) {
    const isAll = gone === holders.length + more.holders;
    badges.push({
      name: "gone",
      text: isAll ? words.goneState : words.goneClients(gone),
      why: words.riskGone,
    });
  }
  if (flags.includes("no-ttl")) badges.push({ name: "no-ttl", text: words.noTtl, why: words.noTtlWhy });
  if (isJvm(holders)) badges.push({ name: "jvm", text: words.jvm, why: words.jvmWhy });
  if (flags.includes("fixed")) badges.push({ name: "plain", text: words.fixed, why: words.fixedWhy });
  if (flags.includes("max-hold")) badges.push({ name: "plain", text: words.maxHold, why: words.maxHoldWhy });
  return badges;
}

/** Whether the lock, or a permit, is kept by a client that is gone. */
export function isStale({ flags }: LockRow): boolean {
  return flags.includes("stale") || flags.includes("leaked");
}

export function isJvm(holders: LockRow["holders"]): boolean {
  return holders.some(({ by }) => by === "jvm");
}
