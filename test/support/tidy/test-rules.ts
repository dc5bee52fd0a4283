import { complain, type TidyRule } from "./rule.js";

const isTest = (path: string) => path.startsWith("test/") && path.endsWith(".ts");

/** That a test asserts something at all is seen when it runs: `requireAssertions` in vitest.config.ts. */
const expectsSomething: TidyRule = {
  promise: "a test says what is expected, an error by its code or its text",
  applies: isTest,
  problems: (text) => [
    ...complain(text, /\bexpect\.anything\(\)/g, "say what it is"),
    ...complain(text, /\boutcome\)\.toBeDefined\(\)/g, "say whether it has a value or an error"),
  ],
  offences: [
    "expect(outcome).toEqual({ error: expect.anything() });",
    "expect(called.outcome).toBeDefined();",
  ].map((text) => ({ path: "test/locks/example.test.ts", text })),
};

export const testRules: readonly TidyRule[] = [expectsSomething];
