import { ServerReplyError, UnavailableError } from "holdfast";
import { expect, test } from "vitest";
import { failureOf } from "../src/failure-of.js";

test.each([
  ["redis://10.0.0.1:7000/0", "redis+cluster://10.0.0.1:7000"],
  ["rediss://[::1]:7000/0", "rediss+cluster://[::1]:7000"],
])(
  "a node of a cluster that was named as %s is told by the URL of a cluster, not by clients of programs [U11]",
  (server, url) => {
    const cause = new ServerReplyError("MOVED 5 10.0.0.2:7001");
    const advice = "make the client for a cluster, as in new Cluster()";
    const { exitCode, message } = failureOf(
      new UnavailableError(server, `MOVED (${advice})`, false, { cause }),
    );
    expect(exitCode).toBe(69);
    expect(message).toBe(`${server}: it is a node of a cluster: address the cluster, as in --url ${url}`);
  },
);

test("what else a server refuses is told as the library tells it", () => {
  const cause = new ServerReplyError("NOAUTH Authentication required.");
  const error = new UnavailableError("redis://h:1/0", "NOAUTH Authentication required.", false, { cause });
  expect(failureOf(error).message).toBe(error.message);
});
