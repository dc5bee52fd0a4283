--[[
  lock-inspect: everything that is stored about a lock, of whatever kind, or about a semaphore or a latch, in one look.

  KEYS[1]  lock    hash, holder -> hold count, and "mode" on a read-write lock; or string, what is available of a semaphore
  KEYS[2]  queue   list of waiting holders (fair lock)
  KEYS[3]  token   string, the fencing counter (fenced lock)
  KEYS[4]  leases  sorted set, id of a permit -> end of its lease (permit-expirable semaphore)
  KEYS[5]  waiting sorted set, id of a client that waits -> its place (lock without a fair queue), or "<client id>:<permits>" -> its place
                   (semaphore of either kind); left out: it is not read
  KEYS[6]  writers the same for a write lock; left out with the one before
  ARGV[1]  count   the subcommand of PUBSUB that counts listeners; "": they are not counted
  then for each place where waiters may listen:
    channel

  Returns  { serverMs, type, ttlMs, { field, value, … }, { waiter, … }, token or nil, listeners or nil, permits or nil,
             { clientId, … }, clientCount }
           ttlMs is -2 for a missing key and -1 for one without a TTL; fields are answered for a hash only; listeners is
           nil where PUBSUB is not allowed
           permits, of a string that is a count:
           { count }                                       nothing is leased
           { count, expired, taken, { permitId, ms, … } }  how many leases are over, how many are not, and of these the first
                                                           to end: 32 hexadecimal digits, and what is left of the lease, -1
                                                           of a permanent permit
           clientIds are those of the clients that wait, the next first: 1,000 at most, and none of more than 10,000; for permits one stands
           there once for each number of permits that its calls want
  Compat   Reads only.
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
