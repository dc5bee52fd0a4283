/** The command line for `ps`, without the logins of URLs. */
export function titleOf(args: readonly string[]): string {
  return [
    "holdfast",
    ...args.map((arg) => arg.replace(/^(.*?\b[a-z][a-z+]{0,30}:\/\/).*@/is, "$1***@")),
  ].join(" ");
}
