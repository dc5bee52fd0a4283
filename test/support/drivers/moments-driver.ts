import type { Driver } from "../../../src/driver/driver.js";
import { ScriptedDriver } from "./scripted-driver.js";

/** Tells of each moment in which something passes between a driver and its user, before it passes. */
export function momentsDriver(driver: Driver, tell: (moment: string) => void): ScriptedDriver {
  return new ScriptedDriver(driver, {
    sent: ({ script }) => tell(`${script.name} is sent`),
    answered: ({ script }) => tell(`${script.name} is answered`),
    subscribing: () => tell("a subscription is asked for"),
    subscribed: () => tell("a subscription is answered"),
    message: () => tell("a message arrives"),
    ready: () => tell("messages begin to arrive"),
  });
}
