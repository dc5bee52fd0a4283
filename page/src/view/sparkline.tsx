import type { Steps } from "../data/contention.js";
import { memo } from "./memo.js";
import { useWords } from "./page-context.js";

const WIDTH = 120;
const HEIGHT = 20;

/** How many calls waited for one lock, as an area of ten minutes. */
export const Sparkline = memo(function Sparkline({ steps }: { readonly steps: Steps | undefined }) {
  const words = useWords();
  if (steps === undefined) return null;
  const most = Math.max(...steps);
  const full = Math.max(most, 4);
  const y = (step: number) => (HEIGHT - (step / full) * (HEIGHT - 2)).toFixed(1);
  const width = WIDTH / steps.length;
  const line = steps.map((step, at) => `V${y(step)}H${((at + 1) * width).toFixed(1)}`).join("");
  return (
    <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img">
      <title>{words.contention(most)}</title>
      <path d={`M0 ${HEIGHT}${line}V${HEIGHT}Z`} />
    </svg>
  );
});
