/** A call fails after this many late answers. After each, the server's time is known, so the next try should be in time. */
export const MOST_VAIN_TRIES = 5;

/** Why a call fails if all of its commands arrived after their deadlines and changed nothing. */
export const ANSWERS_LATE: string = `the server answered ${MOST_VAIN_TRIES} times after commandTimeoutMs had passed on its clock; is it overloaded?`;
