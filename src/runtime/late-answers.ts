/** A late answer tells the server's time, so the next deadline should be right. */
export const MOST_VAIN_TRIES = 5;

/** Why a call fails after each of its commands came after its deadline and changed nothing. */
export const ANSWERS_LATE: string = `the server answered ${MOST_VAIN_TRIES} times after commandTimeoutMs had passed on its clock; is it overloaded?`;
