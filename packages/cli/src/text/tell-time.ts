/** A time of day in the local time zone: `14:03:41`. @param atMs since the Unix epoch */
export function tellTime(atMs: number): string {
  const time = new Date(atMs);
  return [time.getHours(), time.getMinutes(), time.getSeconds()]
    .map((number) => String(number).padStart(2, "0"))
    .join(":");
}
