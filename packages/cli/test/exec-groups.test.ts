import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { killNow } from "../../../test/support/run/guard.js";
import { until } from "../../../test/support/run/until.js";
import { whenStopped } from "../../../test/support/servers/process-state.js";
import { isStopped, livingMembers } from "../src/exec/process-group.js";
import { execRuns } from "./support/exec-runs.js";

const start = execRuns(() => "");

/** A shell with a job in a group of that job's own, whose id it says. */
async function shellWithJob() {
  const run = start(["-c", "setsid sleep 600 & echo $!; wait"], { program: "sh" });
  await run.says("\n");
  const job = Number(run.out);
  await until(() => readFileSync(`/proc/${job}/stat`, "utf8").includes("(sleep)"));
  return { run, job };
}

describe("the members of a group that live", () => {
  it("are its processes", async () => {
    const { run, job } = await shellWithJob();
    expect(livingMembers(job)).toEqual([job]);
    expect(livingMembers(run.pid)).toEqual([]);
  });

  it("are none, when those that are left have ended and their parent has not waited for them", async () => {
    const { run, job } = await shellWithJob();
    run.signal("SIGSTOP");
    await whenStopped(run.pid);
    killNow(job);
    await until(() => readFileSync(`/proc/${job}/stat`, "utf8").includes(") Z"));
    // It can be signalled still.
    process.kill(-job, 0);
    expect(livingMembers(job)).toEqual([]);
  });

  it("are told from those whose name looks like the rest of the line", async () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-exec-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const program = join(folder, "a) Z 1 1");
    const script = 'ln -s "$(command -v sleep)" "$0" && exec "$0" 600';
    const run = start(["-c", script, program], { program: "sh" });
    await until(() => readFileSync(`/proc/${run.pid}/stat`, "utf8").includes(") Z"));
    const group = Number(readFileSync(`/proc/${process.pid}/stat`, "utf8").split(") ")[1]?.split(" ")[2]);
    expect(livingMembers(group)).toContain(run.pid);
  });
});

it("a process is told to stand still once it does", async () => {
  const { run, job } = await shellWithJob();
  expect(isStopped(job)).toBe(false);
  process.kill(job, "SIGSTOP");
  await whenStopped(job);
  expect(isStopped(job)).toBe(true);
  killNow(job);
  run.signal("SIGKILL");
  await run.exited;
  await until(() => isStopped(job) === undefined);
  expect(isStopped(job)).toBeUndefined();
});
