--[[
  lock-inspect-many: read the stored state of some keys that a search has found. Any program may have written these keys: data that does
  not look like a lock is not returned, and a hash or list that takes more memory than a lock can take is not read.

  KEYS  for each lock:
    lock   hash, holder -> hold count, and "mode" on a read-write lock
    queue  list of waiting holders (fair lock)
    token  string, the fencing counter (fenced lock)
    leases sorted set, permit id -> end of its lease (permit-expirable semaphore)
    waiting sorted set, id of a waiting client -> its place (lock without a fair queue), or "<client id>:<permits>" -> its place
            (semaphore of either kind); absent with "fewer"
    writers the same for a write lock; absent with "fewer"
  ARGV[1]  keys  "all", or "fewer": only the first four for each lock

  Returns  { serverMs, { type, ttlMs, { field, value, … }, fieldCount, { waiter, … }, queueLength, token or false, permits or nil,
               { clientId, … }, clientCount, waitsFor }, … }
           with one list for each lock. It may stop early, after at least one lock: the caller asks again for the others
           type is "foreign", without fields, for a hash that is not a lock. Of a lock with more than 1,000 fields, 1,000 random
           fields are returned, with "mode" among them. A queue returns its first 1,000 waiters, if it has at most 10,000
           permits, for a string that is a count: { count }, or
           { count, expired, taken, permanent, { permitId, ms, … } }  the numbers of expired, live and permanent leases, and the
                                                                      leases that end last, in the form of lock-inspect
           clientIds: the waiting clients, the next one first, limited like a queue; for permits, a client is listed once for each
           number of permits that its calls want. waitsFor is 1 if they wait to write, 2 if they wait for permits, 0 otherwise
           The whole reply has at most half a mebibyte.
  Compat   Only reads.
]]
--@include now-ms
--@include permits-out
--@include waiting-clients
local MOST_FIELDS, MOST_SHOWN = 10000, 1000
-- After this many fields and waiters, which cost the server one or two milliseconds, the remaining locks are left out.
local MOST_ROWS = 2000
-- A client id has 36 characters; a thread id, which is an integer of 64 bits, has up to 20. A granted lock has "next" instead
-- of a thread id.
local LONGEST_HOLDER, LONGEST_COUNT, LONGEST_TOKEN = 63, 16, 20
-- Redis 6.2 to Valkey 9 need a third of this size for the longest holder. A hash that was large may keep its table for a while.
local FIELD_BYTES, FRAME_BYTES = 512, 65536
-- How many fields are sampled for their size before any name is read.
local SAMPLES = 100

local function is_holder(field)
  local thread = string.sub(field, 37)
  return #field <= LONGEST_HOLDER
    and string.find(string.sub(field, 1, 36), "^[0-9a-f-]+$")
    and (
      string.find(thread, "^:%-?%d+$")
      or string.find(thread, "^:%-?%d+:write$")
      or thread == ":next"
      or thread == ":next:write"
    )
end

local function is_of_lock(field, value)
  if field == "mode" then
    return value == "read" or value == "write"
  end
  return is_holder(field) and #value <= LONGEST_COUNT and string.find(value, "^%d+$")
end

-- If the user may not use MEMORY USAGE, the size is unknown. With 0 samples, the server measures all elements.
local function is_small(key, count, samples)
  local bytes = redis.pcall("MEMORY", "USAGE", key, "SAMPLES", samples)
  return type(bytes) ~= "number" or bytes <= FRAME_BYTES + 2 * #key + FIELD_BYTES * count
end

-- Of any two fields of a lock, at least one is a holder; the other may be "mode".
local function has_holder(key)
  for _, field in ipairs(redis.call("HRANDFIELD", key, 2)) do
    if is_holder(field) then
      return true
    end
  end
  return false
end

-- Returns nil for a hash that is not a lock.
local function fields_of(key, count)
  local fields = redis.call("HRANDFIELD", key, MOST_SHOWN, "WITHVALUES")
  local mode = count > MOST_SHOWN and redis.call("HGET", key, "mode")
  if mode then
    fields[#fields + 1] = "mode"
    fields[#fields + 1] = mode
  end
  for at = 1, #fields, 2 do
    if not is_of_lock(fields[at], fields[at + 1]) then
      return nil
    end
  end
  return fields
end

local function may_be_lock(key, count)
  return count <= MOST_FIELDS
    and is_small(key, count, SAMPLES)
    and has_holder(key)
    and (count <= SAMPLES or is_small(key, count, 0))
end

-- The waiters, and their number.
local function queue_of(key)
  if redis.call("TYPE", key).ok ~= "list" then
    return {}, 0
  end
  local length = redis.call("LLEN", key)
  if length > MOST_FIELDS then
    return {}, length
  end
  local waiters = is_small(key, length, 0) and redis.call("LRANGE", key, 0, MOST_SHOWN - 1) or {}
  for _, waiter in ipairs(waiters) do
    if not is_holder(waiter) then
      return {}, 0
    end
  end
  return waiters, #waiters > 0 and length or 0
end

local function is_small_queue(key, count)
  return is_small(key, count, 0)
end

-- The available and taken permits of a semaphore, and how many taken permits are listed.
local function permits_of(key, leases)
  local number = short_count_of(key)
  if not number or redis.call("TYPE", leases).ok ~= "zset" then
    return number and { number }, 0
  end
  local now, after = string.format("%.0f", now_ms), string.format("%.0f", now_ms + 1)
  local count = redis.call("ZCARD", leases)
  local is_read = count <= MOST_FIELDS and is_small(leases, count, SAMPLES) and is_small(leases, count, 0)
  local last = is_read and redis.call("ZRANGE", leases, -MOST_SHOWN, -1, "WITHSCORES") or {}
  local taken = taken_in(last)
  local out, endless = count_between(leases, after, "+inf"), string.format("%.0f", PERMANENT)
  return {
    number,
    count_between(leases, "-inf", now),
    out,
    count_between(leases, endless, "+inf"),
    taken,
  }, #taken / 2
end

local function token_of(key)
  local is_token = redis.call("TYPE", key).ok == "string" and redis.call("STRLEN", key) <= LONGEST_TOKEN
  return is_token and redis.call("GET", key)
end

local answer, rows = { now_ms }, 0
local keys_each = ARGV[1] == "fewer" and 4 or 6
for at = 1, #KEYS, keys_each do
  if rows >= MOST_ROWS then
    break
  end
  local lock = KEYS[at]
  local kind, fields, count = redis.call("TYPE", lock).ok, nil, 0
  if kind == "hash" then
    count = redis.call("HLEN", lock)
    local is_read = may_be_lock(lock, count)
    fields = is_read and fields_of(lock, count) or nil
    rows = rows + (is_read and count or 0)
    kind = fields and kind or "foreign"
  end
  local waiters, length = queue_of(KEYS[at + 1])
  local permits, listed = false, 0
  if kind == "string" then
    permits, listed = permits_of(lock, KEYS[at + 3])
  end
  local clients, client_count, waits_for = {}, 0, FOR_LOCK
  if keys_each == 6 then
    clients, client_count, waits_for = waiting_clients(KEYS[at + 4], KEYS[at + 5], is_small_queue)
  end
  rows = rows + #waiters + listed + #clients
  answer[#answer + 1] = {
    kind,
    redis.call("PTTL", lock),
    fields or {},
    fields and count or 0,
    waiters,
    length,
    token_of(KEYS[at + 2]),
    permits or false,
    clients,
    client_count,
    waits_for,
  }
end
return answer
