--[[
  lock-inspect: everything that is stored about a lock, of whatever kind, in one look.

  KEYS[1]  lock   hash, holder -> hold count, and "mode" on a read-write lock
  KEYS[2]  queue  list of waiting holders (fair lock)
  KEYS[3]  token  string, the fencing counter (fenced lock)
  ARGV[1]  count  the subcommand of PUBSUB that counts listeners; "": they are not counted
  then for each place where waiters may listen:
    channel

  Returns  { serverMs, type, ttlMs, { field, value, … }, { waiter, … }, token or nil, listeners or nil }
           ttlMs is -2 for a missing key and -1 for one without a TTL; fields are answered for a hash only; listeners is
           nil where PUBSUB is not allowed
  Compat   Reads only.
]]
--@include now-ms
local lock, queue, token, count = KEYS[1], KEYS[2], KEYS[3], ARGV[1]
local function of_type(key, kind)
  return redis.call("TYPE", key).ok == kind
end

local fields = of_type(lock, "hash") and redis.call("HGETALL", lock) or {}
local waiters = of_type(queue, "list") and redis.call("LRANGE", queue, 0, -1) or {}
local counter = of_type(token, "string") and redis.call("GET", token)

local function listeners()
  local counts = redis.pcall("PUBSUB", count, unpack(ARGV, 2))
  if counts.err then
    return false
  end
  local sum = 0
  for at = 2, #counts, 2 do
    sum = sum + counts[at]
  end
  return sum
end

return {
  now_ms,
  redis.call("TYPE", lock).ok,
  redis.call("PTTL", lock),
  fields,
  waiters,
  counter,
  count ~= "" and listeners(),
}
