import { SpanKind } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace-base";
import { sources } from "../all-scripts.js";

/** What the instrumentation of a Redis client writes down of a command: its name, and the script or channel. */
export function writeDownCommand(command: string, args: readonly unknown[]): string {
  return `${command.toLowerCase()} ${String(args[0] ?? "")}`;
}

const scriptNames = new Map<string, string>(
  Object.values(sources).flatMap(({ name, lua, sha1 }) => [
    [lua, name],
    [sha1, name],
  ]),
);

/** Spans by what they belong to. */
export interface SpanTrees {
  /** Below each root that is no command, as indented lines, in the order in which they began. */
  readonly callers: readonly string[];
  /** The commands that belong to no call, each once, by name. */
  readonly nobody: readonly string[];
}

/**
 * The trees of spans. A command that runs a script has the name of that, and stands once for all that follow each other, as it depends on
 * timing how often a call asks.
 */
export function spanTrees(
  spans: readonly ReadableSpan[],
  begunBefore: (span: ReadableSpan) => number,
): SpanTrees {
  const inOrder = [...spans].sort((a, b) => begunBefore(a) - begunBefore(b));
  const ids = new Set(spans.map((span) => span.spanContext().spanId));
  const linesOf = (span: ReadableSpan): string[] => {
    const id = span.spanContext().spanId;
    const below = inOrder
      .filter(({ parentSpanContext }) => parentSpanContext?.spanId === id)
      .sort((a, b) => Number(isOfCall(b)) - Number(isOfCall(a)))
      .flatMap(linesOf);
    return [nameOf(span), ...below.filter((line, at) => line !== below[at - 1]).map((line) => `  ${line}`)];
  };
  const roots = inOrder.filter(({ parentSpanContext }) => !ids.has(parentSpanContext?.spanId ?? ""));
  const commands = roots.filter(isCommand).map(nameOf);
  return {
    callers: roots.filter((span) => !isCommand(span)).flatMap(linesOf),
    nobody: [...new Set(commands)].sort(),
  };
}

/** It is told when its call has ended, and has begun with it: the commands of the call come after it. */
function isOfCall({ name }: ReadableSpan): boolean {
  return name === "holdfast acquire";
}

/** Of a Redis client. */
function isCommand({ kind }: ReadableSpan): boolean {
  return kind === SpanKind.CLIENT;
}

function textOf(attributes: ReadableSpan["attributes"]): unknown {
  return attributes["db.query.text"] ?? attributes["db.statement"];
}

function nameOf({ name, attributes }: ReadableSpan): string {
  const text = textOf(attributes);
  if (typeof text !== "string") return name;
  const [command = "", ...rest] = text.split(" ");
  return scriptNames.get(rest.join(" ")) ?? command;
}

/** Whether it is a command that runs a script. */
export function isScript(span: ReadableSpan, script: string): boolean {
  return isCommand(span) && nameOf(span) === script;
}

/** How many commands of a script lie right below a span. */
export function commandsBelow(spans: readonly ReadableSpan[], name: string, script: string): number {
  const parents = spans.filter((span) => span.name === name).map((span) => span.spanContext().spanId);
  return spans.filter(
    (span) => nameOf(span) === script && parents.includes(span.parentSpanContext?.spanId ?? ""),
  ).length;
}
