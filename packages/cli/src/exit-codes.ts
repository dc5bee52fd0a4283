/** The meanings of exit codes. From 64 on they follow sysexits.h, as those of flock(1) do. */
export const exitCodes = {
  ok: 0,
  /**
   * `doctor`: a check failed. `show --exit-code`: the lock is free. `unlock`, `release`, `semaphore`: nothing was done, because others hold
   * the lock, or its state changed meanwhile.
   */
  no: 1,
  /** The command line is wrong; nothing was sent to Redis. */
  usage: 64,
  /** The key has a value of another type. */
  wrongType: 65,
  /** Redis can not be reached, or refuses. */
  unavailable: 69,
  /** A bug of holdfast. */
  software: 70,
  /** The results could not be written to stdout. */
  notWritten: 74,
  /** `exec`: the lock was not acquired in time, and the command was never started. */
  conflict: 75,
  /** `exec`: the lock was lost, and the command was stopped. */
  lost: 76,
  /** The user has no right to a command or a key. */
  noRight: 77,
  /** `exec`: the command can not be executed. */
  notExecutable: 126,
  /** `exec`: the command was not found. */
  notFound: 127,
  /** Ended by a signal: 128 and its number. */
  signalled: 128,
} as const;

/** The page of `holdfast help exit-codes`. */
export const exitCodesHelp = `Exit codes

  0-255    exec: the command ended by itself while the lock was held; this is its code
  128+N    exec: signal N ended the command, or ended holdfast while it waited
  75       exec: the lock was not acquired in time, and the command was never started (-E, --conflict-exit-code)
  76       exec: the lock was lost and the command was stopped, whatever its own code (--lost-exit-code)
  126      exec: the command can not be executed; the lock was freed first
  127      exec: the command was not found; the lock was freed first

  0        done; for ls, show and clients also where there is nothing to show
  1        doctor: a check failed. show --exit-code: a lock is free. unlock, release and semaphore --set: nothing was done
  64       the command line is wrong; nothing was sent to Redis
  65       the key has a value of another type
  69       Redis can not be reached, or refuses
  70       a bug of holdfast: please report it
  74       writing to stdout failed, for example because a disk is full; a closed pipe is not an error
  77       the Redis user lacks a right: holdfast doctor lists it, with the ACL line
`;
