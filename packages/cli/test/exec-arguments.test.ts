import { createHash, randomBytes } from "node:crypto";
import { describe, expect, it } from "vitest";
import { locksOnRedis } from "../../../test/support/servers/locks-on-redis.js";
import { execRuns, holdfastProgram } from "./support/exec-runs.js";

const here = locksOnRedis();
const start = execRuns(() => here.server.url);

describe("the command gets its arguments", () => {
  /** Each byte as octal, and a line break behind each argument. */
  const shown = [
    "sh",
    "-c",
    'for word; do printf "%s" "$word" | od -An -v -to1 | tr -d " \\n"; echo; done',
    "sh",
  ];
  const octal = (text: string | Buffer) =>
    [...Buffer.from(text)].map((byte) => byte.toString(8).padStart(3, "0")).join("");

  it("byte for byte: spaces, line breaks, empty ones, options, --, quotes, and all of UTF-8 [X5]", async () => {
    const words = [
      "",
      " ",
      "a  b",
      "a\nb\n",
      "\n",
      "--",
      "-n",
      "--wait",
      "--help",
      "'\"$(x)`\\",
      "*",
      "ä漢🎈",
      "\u0001\u007f",
    ];
    const run = start(["exec", "a", "--", ...shown, ...words]);
    expect(await run.exited).toBe(0);
    expect(run.out).toBe(`${words.map(octal).join("\n")}\n`);
  });

  it("byte for byte also where they are no UTF-8", async () => {
    const bytes = Buffer.from([0xff, 0xfe, 0x41, 0x0a, 0xc3, 0x0a, 0x0a, 0x27, 0x5c]);
    // Node passes on text alone: a shell makes the bytes.
    const made = `word=$(printf '${[...bytes].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}x'); word=\${word%x}`;
    const script = `${made}; exec "$0" "$@" "$word" '' 'ä' --`;
    const args = ["-c", script, process.execPath, holdfastProgram, "exec", "a", "--", ...shown, "first"];
    const run = start(args, { program: "/bin/sh" });
    expect(await run.exited).toBe(0);
    expect(run.out.split("\n")).toEqual([octal("first"), octal(bytes), "", octal("ä"), octal("--"), ""]);
  });

  it("as one word for --shell", async () => {
    const run = start(["exec", "a", "--shell", "--", "printf '%s|' 'a b' \"$HOLDFAST_LOCK_NAME\""]);
    expect(await run.exited).toBe(0);
    expect(run.out).toBe("a b|a|");
  });
});

describe("the standard streams are the command's own", () => {
  it("100 MB go through stdin and stdout unchanged", async () => {
    const run = start(["exec", "a", "--", "cat"], { stdin: "pipe" });
    const [sent, got] = [createHash("sha256"), createHash("sha256")];
    let length = 0;
    // Not as text, which would be kept.
    run.process.stdout?.removeAllListeners("data").on("data", (bytes: Buffer) => {
      got.update(bytes);
      length += bytes.length;
    });
    const { stdin } = run.process;
    for (let megabytes = 0; megabytes < 100; megabytes += 1) {
      const bytes = randomBytes(1_048_576);
      sent.update(bytes);
      if (!stdin?.write(bytes)) await new Promise((resolve) => stdin?.once("drain", resolve));
    }
    stdin?.end();
    expect(await run.exited).toBe(0);
    expect(length).toBe(104_857_600);
    expect(got.digest("hex")).toBe(sent.digest("hex"));
  });

  it("do not refuse to block because of holdfast: a slow reader of stdout and stderr gets all", async () => {
    const script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2 || echo failed";
    const run = start(["exec", "a", "--", "sh", "-c", script]);
    const { stdout, stderr } = run.process;
    stdout?.pause();
    stderr?.pause();
    await run.stalled();
    stdout?.resume();
    stderr?.resume();
    expect(await run.exited).toBe(0);
    expect(run.out.length + run.err.length).toBe(6_000_000);
  });
});
