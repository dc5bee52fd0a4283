/** What `holdfast help exec` says below the options. */
export const execPromises = `
What is promised
  As long as holdfast and the command both get the processor: when the lock can
  not be renewed, no process of the command's group is left by the time at which
  the lease can end in Redis. SIGTERM goes out --kill-after before SIGKILL, and
  SIGKILL 5 % of --ttl (250 ms at least) before the trust in the lease ends,
  which is itself a little before Redis lets go of it. holdfast goes by its own
  clocks, and asks Redis nothing for this. A renewal that comes after SIGTERM
  changes nothing any more. Shorter outages are ridden out: of 8 s with the
  defaults, of a minute with --ttl 2m.
  The exit code is that of the command. Processes of its group that run on when
  it has ended keep the lock until they have ended as well.

  A wait goes on through an outage of Redis of up to --ttl, and then ends with
  69.

What is not promised
  - A lock that was freed by force, or that Redis has lost, is noticed by the
    next renewal, at most a third of --ttl later. Then SIGTERM goes out at once,
    and SIGKILL after --kill-after. Another may have the lock meanwhile: a store
    that checks HOLDFAST_LOCK_TOKEN (--kind fenced) closes that gap.
  - Where stdin is a terminal, or with --no-group, the command is in holdfast's
    own group, so that it can use the terminal: the command itself is stopped,
    and not what it has started.
  - Processes that left the group (setsid), or run as another user (sudo).
  - A machine that was suspended, or a holdfast that was stopped (SIGSTOP) or
    starved: the command may run on past the lease until holdfast runs again.
  - When holdfast is killed, the command runs on, and the lock falls within
    --ttl. --die-with-parent has the kernel kill the command then, and not what
    it has started.

Signals
  While it waits, INT, TERM, HUP and QUIT end it with 128+N, and nothing is left
  behind. While the command runs they go to all of its group, as do USR1, USR2,
  WINCH and CONT; SIGKILL follows a second INT or TERM after --kill-after.
  A terminal sends INT and QUIT to the command by itself: there holdfast neither
  passes them on nor counts them.
  TSTP stops the command, then holdfast. On CONT the lease is looked at before
  the command goes on; a terminal lets both go on at the same moment.

Environment of the command
  HOLDFAST_LOCK_NAME    the name of the lock
  HOLDFAST_LOCK_HOLDER  its holder, as Redis has it
  HOLDFAST_LOCK_TOKEN   the fencing token (--kind fenced)
  HOLDFAST_HELD         the locks that it runs under, a line each, with prefix

Examples
  holdfast exec deploy -- ./deploy.sh --prod
  holdfast exec db:migrate --wait 5m --ttl 2m -- npm run migrate
  On each machine, from cron; it runs on one of them:
  holdfast exec nightly -q --on-busy skip --at-least 1m -- ./nightly.sh
`;
