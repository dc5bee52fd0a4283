import { readdirSync, readFileSync } from "node:fs";

/**
 * The ids of the processes of a group that live; those that have ended and were not waited for by their parent do not. Where the system
 * has no /proc, the id of the group stands for all of them.
 */
export function livingMembers(group: number): readonly number[] {
  const found = send(0, -group);
  if (found === "none") return [];
  const members = membersIn("/proc", group);
  // A process that may not be signalled may also be hidden in /proc.
  if (members === undefined || (members.length === 0 && found === "forbidden")) return [group];
  return members;
}

/** Whether a process is stopped, as by SIGTSTP; undefined where the system can not tell. */
export function isStopped(pid: number): boolean | undefined {
  const stat = statOf("/proc", String(pid));
  return stat === undefined ? undefined : /[Tt]/.test(stat.state);
}

/** Sends a signal; 0 only looks. A negative target is a group. @returns `forbidden`: it belongs to another user, and was sent nothing */
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

/** What proc(5) tells of a process: behind its name, which may have any characters in it, state, parent and group. */
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
