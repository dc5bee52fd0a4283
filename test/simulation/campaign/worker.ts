/** Plays seeds that the coordinator hands out, and tells what came of each. */
import "../world/trap.js";
import { runSchedule } from "../schedule.js";
import { serve } from "./serve.js";

serve(runSchedule);
