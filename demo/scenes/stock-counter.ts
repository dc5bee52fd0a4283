import type { LockName } from "../names.js";
import type { Stage } from "../stage/stage.js";
import { workerNames } from "../stage/worker.js";
import { bar } from "../terminal/bar.js";
import type { Screen } from "../terminal/screen.js";
import { span } from "../terminal/units.js";
import type { Scene } from "./scene.js";

const SALES_OF_EACH = 20;
const THINK_MS = 5;
const SALES = SALES_OF_EACH * workerNames.length;
const BAR_COLUMNS = 20;
const HANG = " ".repeat(18);

/** Why locks at all: updates that are lost without one. */
export const stockCounter: Scene = {
  name: "counter",
  title: "One counter, four workers",
  intro:
    `There are ${SALES} items in stock. Four workers sell ${SALES_OF_EACH} each: read the counter, think for ` +
    `${THINK_MS} ms, write one less. First with nothing around it, then inside lock.using().`,
  code: [
    'await holdfast.getLock("stock").using(async () => {',
    "  const left = await stock.read();",
    "  await stock.write(left - 1); // nobody else was here in between",
    "});",
  ].join("\n"),

  async play(stage, screen) {
    const open = await sellEverything(stage, undefined);
    showSales(screen, "without a lock", open);
    const locked = await sellEverything(stage, "stock");
    showSales(screen, "with the lock ", locked);
    return {
      checks: [
        {
          says: `without a lock sales get lost: ${open.lost} of ${open.sold}`,
          holds: open.lost > 0,
        },
        {
          says: `with the lock none does: ${locked.lost} of ${locked.sold}`,
          holds: locked.lost === 0 && locked.sold === SALES,
        },
      ],
      measured: `sales lost without a lock ${open.lost} of ${open.sold}, with it ${locked.lost}`,
    };
  },
};

interface Sales {
  readonly sold: number;
  readonly lost: number;
  readonly tookMs: number;
}

async function sellEverything(stage: Stage, lock: LockName | undefined): Promise<Sales> {
  await stage.stock.write(SALES);
  const startMs = performance.now();
  const jobs = workerNames.map((name) =>
    stage.worker(name).start("sell", { lock, times: SALES_OF_EACH, thinkMs: THINK_MS }),
  );
  const counts = await Promise.all(jobs.map(({ result }) => result));
  const tookMs = performance.now() - startMs;
  const sold = counts.reduce((sum, count) => sum + count, 0);
  const left = await stage.stock.read();
  return { sold, lost: sold - (SALES - left), tookMs };
}

function showSales(screen: Screen, label: string, { sold, lost, tookMs }: Sales): void {
  const counted = screen.paint(lost === 0 ? "green" : "red", bar((sold - lost) / sold, BAR_COLUMNS));
  screen.line(`  ${label}  ${counted}  ${sold - lost} of ${sold} sales counted (${span(tookMs)})`, HANG);
}
