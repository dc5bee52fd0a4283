/**
 * While a schedule runs, nothing may read a real clock, set a real timer, draw an unseeded number or ask the garbage collector:
 * each of these throws, and is kept as a violation that names the place.
 *
 * Import this module before all others: from then on the functions of the platform are its guards, also for a module that keeps one
 * in a constant when it loads. While the trap is off, a guard costs one comparison.
 */
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Violation } from "../outcome.js";

/** The functions of the platform, for the world that plays the schedule and for what runs it. */
export const real = {
  /** Milliseconds since the process began. */
  now: performance.now.bind(performance),
  /** Milliseconds since the Unix epoch. */
  wallNow: Date.now,
  setImmediate: timers.setImmediate,
  setTimeout: timers.setTimeout,
  setInterval: timers.setInterval,
  clearTimeout: timers.clearTimeout,
  clearInterval: timers.clearInterval,
} as const;

/** What a thing does that may not be done, as the violation words it. */
type Deed =
  | "reads a real clock"
  | "sets a real timer"
  | "draws an unseeded number"
  | "hangs on garbage collection";

let isOn = false;
let nowUs: () => number = () => 0;
const caught = new Map<string, Violation>();

export const trap = {
  /** From now on each forbidden call throws. `virtualNowUs` tells when, on the axis of the schedule. */
  on(virtualNowUs: () => number = () => 0): void {
    if (isOn) throw new Error("the trap is on already: one process plays one schedule at a time");
    isOn = true;
    nowUs = virtualNowUs;
  },

  /** Lets everything through again, and tells what was caught since {@link on}: each place once. */
  off(): Violation[] {
    isOn = false;
    const violations = [...caught.values()];
    caught.clear();
    return violations;
  },
};

function refuse(deed: Deed, name: string): void {
  const place = callerOf(name);
  if (place === undefined) return;
  const text = `${place} ${deed}: ${name}`;
  if (!caught.has(text)) caught.set(text, { rule: "world", text, atUs: nowUs() });
  throw new Error(text);
}

/** Compiled, this file lies in build/simulation/, while source maps tell places in the sources. */
const base = fileURLToPath(new URL("../../../", import.meta.url));
const roots = [base, base.replace(/build[\\/]simulation[\\/]$/, "")];
/** During a run errors may have no stack. */
const FRAMES = 10;
const OWN_FRAME = /[\\/]world[\\/]trap\.[jt]s\b/;

/** The file, line and column outside of the trap that called `name`; undefined for Node's own modules, which may. */
function callerOf(name: string): string | undefined {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = FRAMES;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = stackTraceLimit;
  const frames = stack.split("\n").filter((line) => /^ {4}at /.test(line));
  const caller = frames.find(
    (frame) => !OWN_FRAME.test(frame) && !frame.includes("<anonymous>") && !isPassedOn(frame, name),
  );
  if (caller === undefined) return "a call from no line of code";
  const location = /\(([^()]*)\)$/.exec(caller)?.[1] ?? caller.replace(/^ {4}at (?:async )?/, "");
  if (/^node:/.test(location)) return undefined;
  const path = location.startsWith("file:") ? location.replace("file://", "") : location;
  const root = roots.find((folder) => path.startsWith(folder));
  return root === undefined ? path : path.slice(root.length);
}

/** node:crypto has a function that only passes the call on to the method of the same name. */
function isPassedOn(frame: string, name: string): boolean {
  return frame.includes("(node:") && frame.includes(`.${name.slice(name.lastIndexOf(".") + 1)} (`);
}

type Callable = (this: unknown, ...args: unknown[]) => unknown;

/** The function, refused while the trap is on; with the same properties. */
function guarded(original: Callable, deed: Deed, name: string): Callable {
  const guard: Callable = function (...args) {
    if (isOn) refuse(deed, name);
    return Reflect.apply(original, this, args);
  };
  for (const key of Reflect.ownKeys(original)) {
    if (key === "prototype") continue;
    const value: unknown = Reflect.get(original, key);
    const inner =
      typeof value === "function" ? guarded(value as Callable, deed, `${name}.${key.toString()}`) : value;
    Object.defineProperty(guard, key, { value: inner, configurable: true, writable: true });
  }
  return guard;
}

function guard(deed: Deed, holder: object, holderName: string, ...keys: readonly string[]): void {
  for (const key of keys) {
    const original: unknown = Reflect.get(holder, key);
    if (typeof original !== "function") throw new Error(`this release of Node has no ${holderName}${key}`);
    replace(holder, key, guarded(original as Callable, deed, `${holderName}${key}`));
  }
}

function replace(holder: object, key: string, value: unknown): void {
  const descriptor = Object.getOwnPropertyDescriptor(holder, key);
  Object.defineProperty(holder, key, {
    value,
    writable: true,
    enumerable: descriptor?.enumerable ?? true,
    configurable: true,
  });
}

/** A class that may not be constructed while `isForbidden`; apart from that, the class itself. */
function guardClass<Class extends { readonly prototype: object }>(
  original: Class,
  name: string,
  deed: Deed,
  isForbidden: (args: readonly unknown[]) => boolean,
): void {
  const guardingClass = new Proxy(original as unknown as new () => object, {
    construct(target, args, newTarget) {
      if (isOn && isForbidden(args)) refuse(deed, `new ${name}`);
      return Reflect.construct(target, args, newTarget) as object;
    },
    apply(target, self, args) {
      if (isOn) refuse(deed, name);
      return Reflect.apply(target as unknown as Callable, self, args);
    },
  });
  replace(original.prototype, "constructor", guardingClass);
  replace(globalThis, name, guardingClass);
}

const always = () => true;

guard("reads a real clock", Date, "Date.", "now");
guardClass(Date, "Date", "reads a real clock", (args) => args.length === 0);
guard("reads a real clock", Object.getPrototypeOf(performance) as object, "performance.", "now", "mark");
guard("reads a real clock", process, "process.", "hrtime", "uptime");

const timerNames = ["setTimeout", "setInterval", "setImmediate"] as const;
guard("sets a real timer", timers, "", ...timerNames);
// Code compares the global with the one of the module to notice fake timers.
for (const name of timerNames) replace(globalThis, name, timers[name]);
guard("sets a real timer", timersPromises, "timers/promises.", ...timerNames);
guard(
  "sets a real timer",
  Object.getPrototypeOf(timersPromises.scheduler) as object,
  "scheduler.",
  "wait",
  "yield",
);
guard("sets a real timer", AbortSignal, "AbortSignal.", "timeout");

guard("draws an unseeded number", Math, "Math.", "random");
guard(
  "draws an unseeded number",
  crypto,
  "crypto.",
  "randomUUID",
  "randomBytes",
  "randomInt",
  "randomFill",
  "randomFillSync",
);
guard(
  "draws an unseeded number",
  Object.getPrototypeOf(globalThis.crypto) as object,
  "crypto.",
  "randomUUID",
  "getRandomValues",
);

guardClass(WeakRef, "WeakRef", "hangs on garbage collection", always);
guard("hangs on garbage collection", WeakRef.prototype, "WeakRef.", "deref");
guardClass(FinalizationRegistry, "FinalizationRegistry", "hangs on garbage collection", always);
guard("hangs on garbage collection", FinalizationRegistry.prototype, "FinalizationRegistry.", "register");

syncBuiltinESMExports();
