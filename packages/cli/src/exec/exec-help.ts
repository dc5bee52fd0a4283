/** The text of `holdfast help exec` below the options. */
export const execPromises = `
What is promised
  If the lock can not be renewed, no process of the command's group is left by
  the time at which the lease can end in Redis. This holds as long as holdfast
  and the command both get the processor. holdfast stops relying on a lease
  shortly before it ends in Redis. SIGKILL is sent 5 % of --ttl (at least
  250 ms) before that moment, and SIGTERM --kill-after before SIGKILL. holdfast
  reads its own clocks for this, and asks Redis nothing. Once SIGTERM was sent,
  a renewal that succeeds changes nothing. An outage that ends before SIGTERM
  does no harm: it may last 8 s with the defaults, one minute with --ttl 2m.
  holdfast exits with the command's exit code. If processes of its group still
  run when the command ends, the lock is kept until they end too.

  holdfast keeps waiting for the lock through an outage of Redis of up to --ttl,
  and then exits with 69.

What is not promised
  - If a lock is freed by force, or Redis loses it, the next renewal notices,
    at most a third of --ttl later. Then SIGTERM is sent at once, and SIGKILL
    after --kill-after. Until then another process may have the lock: a store
    that checks HOLDFAST_LOCK_TOKEN (--kind fenced) closes that gap.
  - If stdin is a terminal, or with --no-group, the command is in holdfast's own
    group, so that it can use the terminal. Then only the command itself is
    stopped, not the processes that it started.
  - Processes that left the group (setsid), or run as another user (sudo), may
    outlive the lock.
  - If the machine is suspended, or holdfast is stopped (SIGSTOP) or gets no
    processor time, the command may run past the lease until holdfast runs
    again.
  - If holdfast is killed, the command runs on, and the lock ends within --ttl.
    With --die-with-parent the kernel then kills the command, but not the
    processes that it started.

Signals
  While holdfast waits for the lock, INT, TERM, HUP and QUIT end it with exit
  code 128+N, and nothing is left in Redis. While the command runs, these
  signals and USR1, USR2, WINCH and CONT go to its whole group; a second INT or
  TERM is followed by SIGKILL after --kill-after.
  If the command is on a terminal, the terminal itself sends INT and QUIT to the
  command, so holdfast neither passes them on nor counts them.
  TSTP stops the command, then holdfast. On CONT holdfast checks the lease
  before it continues the command; a terminal continues both at the same moment.

Environment of the command
  HOLDFAST_LOCK_NAME    the name of the lock
  HOLDFAST_LOCK_HOLDER  its holder, as Redis has it
  HOLDFAST_LOCK_TOKEN   the fencing token (--kind fenced)
  HOLDFAST_HELD         the locks that it runs under, one per line, with prefix

Examples
  holdfast exec deploy -- ./deploy.sh --prod
  holdfast exec db:migrate --wait 5m --ttl 2m -- npm run migrate
  On each machine, from cron; it runs on one of them:
  holdfast exec nightly -q --on-busy skip --at-least 1m -- ./nightly.sh
`;
