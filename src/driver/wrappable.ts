import type { Driver } from "./driver.js";

/** The optional members of a driver. */
const OPTIONAL = ["placeOf", "onMoved", "lookForMoves", "runReplicated", "everywhere"] as const;

/**
 * The driver as an object without private fields. A caller may wrap it in a `Proxy`, or use it as the prototype of an object. Methods then
 * run with another `this`, which has no private fields. A copy by `{ ...driver }` freezes `resets` and `outage`, so a wrapper made in this
 * way must pass them on by getters.
 */
export function wrappable(driver: Driver): Driver {
  const methods: Partial<Record<(typeof OPTIONAL)[number], unknown>> = {};
  for (const name of OPTIONAL) {
    const method = driver[name];
    if (method !== undefined) methods[name] = method.bind(driver);
  }
  return {
    ...(methods as Partial<Driver>),
    traits: driver.traits,
    get resets() {
      return driver.resets;
    },
    get outage() {
      return driver.outage;
    },
    run: (call, ticket) => driver.run(call, ticket),
    subscribe: (channel, listener, family) => driver.subscribe(channel, listener, family),
    close: () => driver.close(),
  };
}
