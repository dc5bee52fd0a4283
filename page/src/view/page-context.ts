import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Requests } from "../data/requests.js";
import type { Words } from "../words/en.js";

export interface PageContext {
  readonly words: Words;
  readonly requests: Requests;
  /** Shows the panel of a lock, by its key. */
  openLock(key: string): void;
}

const context = createContext<PageContext | undefined>(undefined);

export const PageProvider = context.Provider;

export function usePage(): PageContext {
  const page = useContext(context);
  if (page === undefined) throw new Error("a view stands outside of the page");
  return page;
}

export function useWords(): Words {
  return usePage().words;
}
