import { describe, expect, test } from "vitest";
import { Output } from "../src/output.js";
import { holdfast } from "./support/command-line.js";

const CLEAR_SCREEN = "\u001b[2J";
const CSI = "\u009b";
const RIGHT_TO_LEFT = "\u202e";

function written(tell: (output: Output) => void): { readonly out: string; readonly err: string } {
  const text = { out: "", err: "" };
  const stream = (name: "out" | "err") => ({ write: (more: string) => (text[name] += more) });
  tell(new Output({ out: stream("out"), err: stream("err"), env: {} }));
  return text;
}

describe("what is said on stderr", () => {
  test("has names and answers of Redis in it that can move no cursor", () => {
    const { err } = written((output) => {
      output.complain(`key "${CLEAR_SCREEN}" is not a lock\nsecond line`);
      output.say(`held by ${CSI}31m`);
      output.ask(`type its name (${RIGHT_TO_LEFT}):`);
    });
    expect(err).toBe(
      'holdfast: key "\\u{1b}[2J" is not a lock\nsecond line\nholdfast: held by \\u{9b}31m\nholdfast: type its name (\\u{202e}): ',
    );
  });

  test("is one line where it is a record, whatever is in it", () => {
    expect(written((output) => output.record("freed\nholdfast: freed")).err).toBe(
      "holdfast: freed\\u{a}holdfast: freed\n",
    );
  });

  test("has what was typed in it in the same way", async () => {
    const { code, err } = await holdfast([`${CLEAR_SCREEN}`]);
    expect(code).toBe(64);
    expect(err).toContain("unknown command '\\u{1b}[2J'");
  });
});

test("JSON moves no cursor, and has the same values", () => {
  const value = { name: `a${CSI}31m${RIGHT_TO_LEFT}\u{e0041}\n`, token: 2n ** 60n };
  const { out } = written((output) => output.json(value));
  expect(out).toContain("\\u009b31m\\u202e\\udb40\\udc41");
  expect(JSON.parse(out)).toEqual({ ...value, token: String(2n ** 60n) });
});

describe("refused before anything is sent:", () => {
  test.each([
    [["help", "nope"], 'there is no help for "nope"'],
    [["show", "a", "", "--url", "redis://127.0.0.1:1"], "the name of a lock must not be empty"],
    [["ls", "", "--url", "redis://127.0.0.1:1"], "a pattern must not be empty"],
    [["watch", "", "--url", "redis://127.0.0.1:1"], "a pattern must not be empty"],
    [["ls", "--connect-timeout", "600h"], "--connect-timeout must be at most 24h, got 600h"],
  ])("%j", async (args, says) => {
    const { code, err } = await holdfast(args);
    expect({ code, err }).toEqual({ code: 64, err: expect.stringContaining(says) });
  });
});
