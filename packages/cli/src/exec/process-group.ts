import { readdirSync, readFileSync } from "node:fs";

/**
 * The ids of the living processes of a group. An ended process does not count as living, even if its parent has not waited for it yet.
 * Without /proc, the id of the group stands for all its processes.
 */
export function livingMembers(group: number): readonly number[] {
  const found = send(0, -group);
  if (found === "none") return [];
  const members = membersIn("/proc", group);
  // A process that holdfast may not signal may also be hidden in /proc.
  if (members === undefined || (members.length === 0 && found === "forbidden")) return [group];
  return members;
}

/** Whether a process is stopped, for example by SIGTSTP; undefined if the system cannot tell. */
export function isStopped(pid: number): boolean | undefined {
  const stat = statOf("/proc", String(pid));
  return stat === undefined ? undefined : /[Tt]/.test(stat.state);
}

/**
 * Sends a signal; 0 only tests. A negative target is a group. @returns `forbidden`: the process belongs to another user, and got no signal
 */
export function send(signal: NodeJS.Signals | 0, target: number): "sent" | "none" | "forbidden" {
  try {
    process.kill(target, signal);
    return "sent";
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ESRCH") return "none";
    if (code === "EPERM") return "forbidden";
    throw error;
  }
}

function membersIn(proc: string, group: number): readonly number[] | undefined {
  let names: readonly string[];
  try {
    names = readdirSync(proc);
  } catch {
    return undefined;
  }
  const processes = names.filter((name) => /^\d+$/.test(name));
  if (processes.length === 0) return undefined;
  return processes.flatMap((pid) => {
    const stat = statOf(proc, pid);
    return stat?.group === group && !/[ZXx]/.test(stat.state) ? [Number(pid)] : [];
  });
}

/** The fields of a process in proc(5). State, parent and group come after the name, which may contain any characters. */
function statOf(proc: string, pid: string): { readonly state: string; readonly group: number } | undefined {
  let text: string;
  try {
    text = readFileSync(`${proc}/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  const [state = "", , group = ""] = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state, group: Number(group) };
}
