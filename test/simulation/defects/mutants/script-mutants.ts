import { parseAst } from "vite";
import { type Change, COMPARISONS, type Mutant, mutantsOf } from "./mutant.js";

/** A node of the syntax tree, as ESTree has them. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [part: string]: unknown;
}

/** All mutants of a TypeScript file: what stands in types, strings and comments is left alone. */
export function scriptMutants(file: string, source: string): readonly Mutant[] {
  const changes: Change[] = [];
  visit(parseAst(source, { lang: "ts" }) as unknown as Node, (node) => {
    changes.push(...changesOf(node, source));
  });
  changes.sort((a, b) => a.start - b.start || a.operator.localeCompare(b.operator));
  return mutantsOf(file, source, changes);
}

function visit(node: Node, look: (node: Node) => void): void {
  look(node);
  for (const part of Object.values(node)) {
    for (const child of Array.isArray(part) ? part : [part]) {
      // Types have no effect.
      if (isNode(child) && (!child.type.startsWith("TS") || hasValue(child))) visit(child, look);
    }
  }
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** `value as Type`, and the like. */
function hasValue({ type }: Node): boolean {
  return type === "TSAsExpression" || type === "TSSatisfiesExpression" || type === "TSNonNullExpression";
}

function changesOf(node: Node, source: string): readonly Change[] {
  switch (node.type) {
    case "BinaryExpression":
      return binaryChanges(node, source);
    case "LogicalExpression":
      return logicalChanges(node, source);
    case "UnaryExpression":
      return node["operator"] === "!" ? [replaced(node.start, node.start + 1, "", "not dropped")] : [];
    case "AssignmentExpression":
      return assignmentChanges(node, source);
    case "ExpressionStatement":
      return droppedStatement(node);
    default:
      return [];
  }
}

const EQUALITIES: Readonly<Record<string, string>> = { "===": "!==", "!==": "===" };
const SUMS: Readonly<Record<string, string>> = { "+": "-", "-": "+" };

function binaryChanges(node: Node, source: string): readonly Change[] {
  const { operator, at } = operatorOf(node, source);
  const end = at + operator.length;
  const become = [...(COMPARISONS[operator] ?? []), ...[EQUALITIES[operator] ?? []].flat()];
  const changes = become.map((other) => replaced(at, end, other, `${operator} to ${other}`));
  const turned = SUMS[operator];
  if (turned === undefined || !isOne(node["right"])) return changes;
  return [
    ...changes,
    replaced(at, end, turned, `${operator} to ${turned}`),
    replaced(at, node.end, "", `${operator} 1 dropped`),
  ];
}

function isOne(node: unknown): boolean {
  return isNode(node) && node.type === "Literal" && node["value"] === 1;
}

function logicalChanges(node: Node, source: string): readonly Change[] {
  const { operator, at } = operatorOf(node, source);
  const other = operator === "&&" ? "||" : operator === "||" ? "&&" : undefined;
  if (other === undefined) return [];
  // Beside `??` neither may stand without brackets.
  return [replaced(at, at + operator.length, other, `${operator} to ${other}`)];
}

function assignmentChanges(node: Node, source: string): readonly Change[] {
  const { operator, at } = operatorOf(node, source);
  const turned = operator === "+=" ? "-=" : operator === "-=" ? "+=" : undefined;
  return turned === undefined ? [] : [replaced(at, at + 2, turned, `${operator} to ${turned}`)];
}

/** A call, or an assignment, that stands by itself. */
function droppedStatement(node: Node): readonly Change[] {
  const called = calledBy(node["expression"]);
  if (called === undefined) return [];
  return [replaced(node.start, node.end, ";", called)];
}

function calledBy(expression: unknown): string | undefined {
  if (!isNode(expression)) return undefined;
  switch (expression.type) {
    case "CallExpression":
      return isSuper(expression) ? undefined : "call dropped";
    case "AssignmentExpression":
      return "assignment dropped";
    case "AwaitExpression":
    case "UnaryExpression":
      return calledBy(expression["argument"]);
    case "ChainExpression":
      return calledBy(expression["expression"]);
    default:
      return undefined;
  }
}

function isSuper({ callee }: Node): boolean {
  return isNode(callee) && callee.type === "Super";
}

function operatorOf(node: Node, source: string): { readonly operator: string; readonly at: number } {
  const operator = String(node["operator"]);
  const left = node["left"] as Node;
  return { operator, at: source.indexOf(operator, left.end) };
}

function replaced(start: number, end: number, replacement: string, operator: string): Change {
  return { start, end, replacement, operator: operator.replaceAll(" ", "-") };
}
