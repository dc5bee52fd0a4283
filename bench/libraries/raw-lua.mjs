/** The release that Redis' own documentation shows. */
export const COMPARE_AND_DELETE =
  'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0';

/** `SET NX PX` as a script. */
export const SET_IF_FREE = 'return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX")';
