// @ts-check
/** Loaded before all else: the clock of this process is wrong by so many milliseconds, as those of machines are. */
const skewMs = Number(process.env["SKEW_MS"] ?? 0);
const now = () => Math.round(performance.timeOrigin + performance.now() + skewMs);

globalThis.Date = new Proxy(Date, {
  construct: (real, args, target) => Reflect.construct(real, args.length === 0 ? [now()] : args, target),
  get: (real, property) => (property === "now" ? now : Reflect.get(real, property)),
});
