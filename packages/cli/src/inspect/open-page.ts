import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** After this time a browser has read the file. */
const KEPT_MS = 30_000;

/**
 * Opens a browser at a URL that contains a secret. The browser gets a file that only this user may read and that leads to the URL, because
 * all users of the machine can see the arguments of a process.
 * @param failed gets the reason if no browser was opened: the page is served anyway
 * @returns a function that removes the file; half a minute later it is removed anyway
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

/** The first command in `$BROWSER`. It may have arguments, and `%s` for the file. */
function commandFor(file: string, env: NodeJS.ProcessEnv): readonly string[] {
  const [named = ""] = (env["BROWSER"] ?? "").split(":");
  if (named.trim() === "") return [process.platform === "darwin" ? "open" : "xdg-open", file];
  const words = named.trim().split(/\s+/);
  const placed = words.map((word) => word.replaceAll("%s", () => file));
  return named.includes("%s") ? placed : [...words, file];
}
