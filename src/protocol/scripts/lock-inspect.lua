--[[
  lock-inspect: read everything that is stored about a lock of any kind, a semaphore or a latch, in one call.

  KEYS[1]  lock    hash, holder -> hold count, and "mode" on a read-write lock; or string, the count of a semaphore or latch
  KEYS[2]  queue   list of waiting holders (fair lock)
  KEYS[3]  token   string, the fencing counter (fenced lock)
  KEYS[4]  leases  sorted set, permit id -> end of its lease (permit-expirable semaphore)
  KEYS[5]  waiting sorted set, id of a waiting client -> its place (lock without a fair queue), or "<client id>:<permits>" -> its place
                   (semaphore of either kind); if the key is left out, it is not read
  KEYS[6]  writers the same for a write lock; left out together with waiting
  ARGV[1]  count   the subcommand of PUBSUB that counts listeners; "": they are not counted
  then for each channel where waiters may listen:
    channel

  Returns  { serverMs, type, ttlMs, { field, value, … }, { waiter, … }, token or nil, listeners or nil, permits or nil,
             { clientId, … }, clientCount }
           ttlMs is -2 for a missing key and -1 for a key without a TTL; fields are returned only for a hash; listeners is
           nil if PUBSUB is not allowed
           permits, for a string that is a count:
           { count }                                       without leases
           { count, expired, taken, { permitId, ms, … } }  the numbers of expired and of live leases, and the live leases that
                                                           end first: permitId has 32 hexadecimal digits; ms: the time left,
                                                           -1 for a permanent permit
           clientIds: the waiting clients, the next one first; at most 1,000, and none if there are more than 10,000; for permits, a
           client is listed once for each number of permits that its calls want
  Compat   Only reads.
]]
--@include now-ms
--@include permits-out
--@include waiting-clients
local lock, queue, token, leases, waiting, count = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1]
local MOST_SHOWN = "1000"
local function of_type(key, kind)
  return redis.call("TYPE", key).ok == kind
end

local kind = redis.call("TYPE", lock).ok
local fields = kind == "hash" and redis.call("HGETALL", lock) or {}
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

local function permits()
  local number = kind == "string" and short_count_of(lock)
  if not number or not of_type(leases, "zset") then
    return number and { number }
  end
  local now, after = string.format("%.0f", now_ms), string.format("%.0f", now_ms + 1)
  local first = redis.call("ZRANGE", leases, after, "+inf", "BYSCORE", "LIMIT", "0", MOST_SHOWN, "WITHSCORES")
  local counts = { count_between(leases, "-inf", now), count_between(leases, after, "+inf") }
  return { number, counts[1], counts[2], taken_in(first) }
end

local clients, client_count = {}, 0
if waiting then
  clients, client_count = waiting_clients(waiting, KEYS[6])
end
return {
  now_ms,
  kind,
  redis.call("PTTL", lock),
  fields,
  waiters,
  counter,
  count ~= "" and listeners(),
  permits() or false,
  clients,
  client_count,
}
