--[[
  lock-inspect: everything that is stored about a lock, of whatever kind, in one look.

  KEYS[1]  lock   hash, holder -> hold count, and "mode" on a read-write lock
  KEYS[2]  queue  list of waiting holders (fair lock)
  KEYS[3]  token  string, the fencing counter (fenced lock)

  Returns  { serverMs, type, ttlMs, { field, value, … }, { waiter, … }, token or nil }
           ttlMs is -2 for a missing key and -1 for one without a TTL; fields are answered for a hash only.
  Compat   Reads only.
]]
--@include server-time
local lock, queue, token = KEYS[1], KEYS[2], KEYS[3]
local function of_type(key, kind)
  return redis.call("TYPE", key).ok == kind
end

local fields = of_type(lock, "hash") and redis.call("HGETALL", lock) or {}
local waiters = of_type(queue, "list") and redis.call("LRANGE", queue, 0, -1) or {}
local counter = of_type(token, "string") and redis.call("GET", token)
return { server_time(), redis.call("TYPE", lock).ok, redis.call("PTTL", lock), fields, waiters, counter }
