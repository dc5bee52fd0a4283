import { createInterface } from "node:readline";

/** What a program is started with: one JSON object as its only argument. */
export function settings<Settings>(): Settings {
  return JSON.parse(process.argv[2] ?? "{}") as Settings;
}

/** Tells the test that something happened. Written at once, also when the program does not return to its event loop. */
export function tell(event: string, details: object = {}): void {
  process.stdout.write(`${JSON.stringify({ event, ...details })}\n`);
}

/** What an order is answered with. */
export interface Answer {
  readonly event: string;
  readonly [detail: string]: unknown;
}

export type Orders = Readonly<Record<string, (options: object) => Answer | Promise<Answer>>>;

/**
 * Takes orders, one JSON object `{ id, order, options }` a line, and answers each with one line that has its id.
 * Orders run side by side: one that waits does not keep the next from being obeyed. Ends the process when nobody can
 * give orders any more.
 *
 * @returns what stops the listening without ending the process
 */
export function obey(orders: Orders): () => void {
  const lines = createInterface({ input: process.stdin });
  let stopped = false;
  lines.on("line", (line) => {
    const { id, order, options } = JSON.parse(line) as { id: number; order: string; options?: object };
    void carryOut(orders, order, options ?? {}).then(({ event, ...details }) =>
      tell(event, { ...details, id }),
    );
  });
  lines.on("close", () => {
    if (!stopped) process.exit(1);
  });
  return () => {
    stopped = true;
    lines.close();
    process.stdin.destroy();
  };
}

async function carryOut(orders: Orders, order: string, options: object): Promise<Answer> {
  try {
    const act = orders[order];
    if (act === undefined) throw new TypeError(`there is no order "${order}"`);
    return await act(options);
  } catch (error) {
    return { event: "failed", error: describe(error) };
  }
}

/** An error as plain data. */
export function describe(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const { name, message } = error;
  return { name, message, ...("code" in error ? { code: error.code } : {}) };
}
