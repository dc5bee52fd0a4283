import type { View } from "../data/store.js";
import { useWords } from "./page-context.js";

const PRESENCE_LINE = 'new Holdfast(driver, { presence: { app: "billing" } });';

/** The text instead of a table without rows: why it is empty, and what to do. */
export function EmptyLocks({ view, isFiltered }: { readonly view: View; readonly isFiltered: boolean }) {
  const words = useWords();
  if (!view.isKnown) return <div class="empty" aria-hidden="true" />;
  if (isFiltered) return <Empty title={words.noMatch} />;
  if (view.clients.size > 0) return <Empty title={words.noLocks} text={words.noLocksWhy} />;
  return (
    <Empty title={words.noPresence} text={words.noPresenceWhy}>
      <pre class="line">
        <code>{PRESENCE_LINE}</code>
      </pre>
    </Empty>
  );
}

interface EmptyProps {
  readonly title: string;
  readonly text?: string;
  readonly children?: preact.ComponentChildren;
}

export function Empty({ title, text, children }: EmptyProps) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {text === undefined ? null : <p>{text}</p>}
      {children}
    </div>
  );
}
