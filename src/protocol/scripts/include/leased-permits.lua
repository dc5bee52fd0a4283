--[[
  leased-permits: the taken permits of a permit-expirable semaphore { permits, leases, channel }. The members of the
  sorted set of leases are the 16 bytes of each permit's id; the score is the end of its lease in epoch milliseconds. Most calls
  first reclaim the permits with expired leases, at most a fixed number at a time, so that the server is not held up.
]]
--@include announce
local PERMANENT = 922337203685477
local MOST_AT_ONCE = 10000

local function foreign_semaphore(semaphore)
  return foreign_count(semaphore.permits) or foreign_type(semaphore.leases, "zset")
end

local function raw_ids(hex)
  local ids = {}
  for at = 1, #hex, 32 do
    local raw = string.gsub(string.sub(hex, at, at + 31), "%x%x", function(byte)
      return string.char(tonumber(byte, 16))
    end)
    ids[#ids + 1] = raw
  end
  return ids
end

local function lease_end(semaphore, id)
  local ends_ms = redis.call("ZSCORE", semaphore.leases, id)
  return ends_ms and tonumber(ends_ms)
end

local function is_leased(semaphore, id)
  local ends_ms = lease_end(semaphore, id)
  return ends_ms and ends_ms > now_ms
end

-- Milliseconds until the next lease ends; -1: never.
local function next_end_ms(semaphore)
  local soonest = redis.call("ZRANGE", semaphore.leases, "0", "0", "WITHSCORES")
  local ends_ms = tonumber(soonest[2]) or PERMANENT
  return ends_ms < PERMANENT and math.max(ends_ms - now_ms, 0) or -1
end

local function count_absent(semaphore, ids)
  local absent = 0
  for _, id in ipairs(ids) do
    absent = absent + (is_leased(semaphore, id) and 0 or 1)
  end
  return absent
end

local function count_expired(semaphore)
  return redis.call("ZCOUNT", semaphore.leases, "-inf", milliseconds(now_ms))
end

-- Makes permits with expired leases available again. Does not recreate a deleted semaphore.
local function reclaim(semaphore)
  local number = math.min(count_expired(semaphore), MOST_AT_ONCE)
  if number == 0 then
    return
  end
  -- The range is empty: this only tests whether the server accepts a removal, before the permits are counted.
  redis.call("ZREMRANGEBYRANK", semaphore.leases, "1", "0")
  if count_of(semaphore.permits) then
    announce(semaphore.channel, redis.call("INCRBY", semaphore.permits, milliseconds(number)))
  end
  redis.call("ZREMRANGEBYRANK", semaphore.leases, "0", milliseconds(number - 1))
end

-- Records the leases. Returns the server's error if the server refuses the leases, which it does for all permits or for none.
local function lease(semaphore, ids, ends_ms)
  local reply = nil
  for _, id in ipairs(ids) do
    reply = redis.pcall("ZADD", semaphore.leases, milliseconds(ends_ms), id)
  end
  return reply
end

local function prolong(semaphore, ids, ends_ms)
  for _, id in ipairs(ids) do
    if (lease_end(semaphore, id) or 0) < ends_ms then
      redis.call("ZADD", semaphore.leases, milliseconds(ends_ms), id)
    end
  end
end

-- Gives back permits that have leases. Records the answer with `number` if it is given, otherwise with the number of available permits.
-- Returns the answer, and the result of `announce`.
local function give_back(semaphore, ids, request, status, number)
  -- This only tests whether the server accepts a removal, before the permits are counted: no permit has an empty id.
  redis.call("ZREM", semaphore.leases, "")
  local available = count_of(semaphore.permits)
  local total = available and available + #ids or 0
  local answer = record(request, status, number or total)
  if available and is_undone(request, redis.pcall("INCRBY", semaphore.permits, milliseconds(#ids))) then
    redis.call("INCRBY", semaphore.permits, milliseconds(#ids))
  end
  for _, id in ipairs(ids) do
    redis.call("ZREM", semaphore.leases, id)
  end
  return answer, available and announce(semaphore.channel, total) or 0
end
