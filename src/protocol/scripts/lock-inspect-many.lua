--[[
  lock-inspect-many: what is stored about some locks that were found. Any program may have written it: what is not of a lock's form
  is not answered, and a hash or a list that takes more memory than any lock is not read.

  KEYS  for each lock:
    lock   hash, holder -> hold count, and "mode" on a read-write lock
    queue  list of waiting holders (fair lock)
    token  string, the fencing counter (fenced lock)
    leases sorted set, id of a permit -> end of its lease (permit-expirable semaphore)
    waiting sorted set, id of a client that waits -> its place (lock without a fair queue), or "<client id>:<permits>" -> its place
            (semaphore of either kind); with "fewer" there is none
    writers the same for a write lock; with "fewer" there is none
  ARGV[1]  keys  "all", or "fewer": of each lock the first four

  Returns  { serverMs, { type, ttlMs, { field, value, … }, fieldCount, { waiter, … }, queueLength, token or false, permits or nil,
               { clientId, … }, clientCount, waitsFor }, … }
           with one list for each lock, perhaps fewer than there are, but one at least: the caller asks again for the others
           type is "foreign" for a hash that is no lock, which has no fields then; of a lock with more than 1,000 fields so many
           are answered, as chance has it, with "mode" among them, and of a queue the first 1,000, if it has 10,000 at most
           permits, of a string that is a count: { count }, or
           { count, expired, taken, permanent, { permitId, ms, … } }  how many leases are over, how many are not, how many of
                                                                      these have no end, and the last to end, as lock-inspect
           clientIds are those of the clients that wait, the next first: as many as of a queue; for permits one stands there once for each
           number of permits that its calls want. waitsFor is 1 when they wait to write, 2 when they wait for permits, 0 otherwise
           In all half a mebibyte at most.
  Compat   Reads only.
]]
--@include now-ms
--@include permits-out
--@include waiting-clients
local MOST_FIELDS, MOST_SHOWN = 10000, 1000
-- Once so many fields and waiters were read, the rest of the locks is left out: a millisecond or two of the server.
local MOST_ROWS = 2000
-- A client id has 36 characters, a thread id that is an integer of 64 bits up to 20. A lock that is given to a client has "next" there.
local LONGEST_HOLDER, LONGEST_COUNT, LONGEST_TOKEN = 63, 16, 20
-- Redis 6.2 to Valkey 9 take a third of that for the longest holder. A hash that was large may keep its table for a while.
local FIELD_BYTES, FRAME_BYTES = 512, 65536
-- So many fields are looked at, from the first on, before the name of any is read.
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

-- A user without the right to MEMORY USAGE is not told how much a key takes. With 0 samples all of it is counted.
local function is_small(key, count, samples)
  local bytes = redis.pcall("MEMORY", "USAGE", key, "SAMPLES", samples)
  return type(bytes) ~= "number" or bytes <= FRAME_BYTES + 2 * #key + FIELD_BYTES * count
end

-- Of two fields of a lock one at least is a holder: the other may be "mode".
local function has_holder(key)
  for _, field in ipairs(redis.call("HRANDFIELD", key, 2)) do
    if is_holder(field) then
      return true
    end
  end
  return false
end

-- Nothing is answered for a hash that is no lock.
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

-- The waiters, and how many there are.
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

-- What a semaphore has to give and has given, and how many permits are listed of that.
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
