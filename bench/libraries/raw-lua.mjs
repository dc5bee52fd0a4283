/** The release that Redis' own documentation shows. */
export const COMPARE_AND_DELETE =
  'if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0';

/** `SET NX PX` as a script. */
export const SET_IF_FREE = 'return redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX")';

/** Stores a hash as Redisson does, for each key with the holder at the same place; ARGV[1] is the lease. */
export const STORE_HASHES = `
local taken = 0
for i, key in ipairs(KEYS) do
  if redis.call("EXISTS", key) == 0 then
    redis.call("HSET", key, ARGV[i + 1], 1)
    redis.call("PEXPIRE", key, ARGV[1])
    taken = taken + 1
  end
end
return taken`;

/** Takes the field of a holder out of each hash, and with it the key. */
export const FREE_HASHES = `
local freed = 0
for i, key in ipairs(KEYS) do
  freed = freed + redis.call("HDEL", key, ARGV[i])
end
return freed`;

/** The same for one key. */
export const STORE_HASH = `
if redis.call("EXISTS", KEYS[1]) == 1 then return 0 end
redis.call("HSET", KEYS[1], ARGV[2], 1)
redis.call("PEXPIRE", KEYS[1], ARGV[1])
return 1`;
export const FREE_HASH = 'return redis.call("HDEL", KEYS[1], ARGV[1])';
