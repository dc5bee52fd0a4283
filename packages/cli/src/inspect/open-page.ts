import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** By then a browser has read it. */
const KEPT_MS = 30_000;

/**
 * Opens a browser at a URL with a secret in it, by a file that only this user may read and that leads there: the arguments of a process
 * are seen by all users of the machine.
 * @param failed gets the reason if no browser was opened: the page is served anyway
 * @returns takes the file away, at the latest after half a minute
 */
export function openPage(url: string, env: NodeJS.ProcessEnv, failed: (why: string) => void): () => void {
  let folder: string | undefined;
  const remove = () => {
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  };
  try {
    folder = mkdtempSync(join(tmpdir(), "holdfast-"));
    const file = join(folder, "open.html");
    writeFileSync(file, leadingTo(url), { mode: 0o600 });
    const [command = "", ...args] = commandFor(file, env);
    const browser = spawn(command, args, { detached: true, stdio: "ignore" });
    browser.on("error", (error) => failed(error.message));
    browser.unref();
  } catch (error) {
    failed(error instanceof Error ? error.message : String(error));
  }
  const timer = setTimeout(remove, KEPT_MS);
  timer.unref();
  return () => {
    clearTimeout(timer);
    remove();
  };
}

function leadingTo(url: string): string {
  const text = JSON.stringify(url).replaceAll("<", "\\u003c");
  return `<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>holdfast</title><script>location.replace(${text})</script>\n`;
}

/** The first of `$BROWSER`, which may have arguments, and `%s` where the file is to stand. */
function commandFor(file: string, env: NodeJS.ProcessEnv): readonly string[] {
  const [named = ""] = (env["BROWSER"] ?? "").split(":");
  if (named.trim() === "") return [process.platform === "darwin" ? "open" : "xdg-open", file];
  const words = named.trim().split(/\s+/);
  const placed = words.map((word) => word.replaceAll("%s", () => file));
  return named.includes("%s") ? placed : [...words, file];
}
