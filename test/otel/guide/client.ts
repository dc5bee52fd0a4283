// #region client
import { type Driver, Holdfast } from "holdfast";
import { aroundHolds } from "holdfast/otel";

export const holdfastOn = (driver: Driver) => new Holdfast(driver, { around: aroundHolds() });
// #endregion
