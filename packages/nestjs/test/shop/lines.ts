/** Tells who has started the application what happens, in a line of JSON. */
export function tell(event: object): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}
