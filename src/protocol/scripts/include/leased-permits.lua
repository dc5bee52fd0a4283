--[[
  leased-permits: the permits of a permit-expirable semaphore { permits, leases, channel } that are out. The sorted set of
  leases has, for each, the 16 bytes of its id and when its lease ends, in epoch milliseconds. Most calls first give
  back the permits past their lease; a bounded number at a time, so that the server is not held up.
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

-- After how many milliseconds the next lease ends; -1: never.
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

-- A semaphore that was deleted is not made again.
local function make_available(semaphore, number)
  if not count_of(semaphore.permits) then
    return 0
  end
  local available = redis.call("INCRBY", semaphore.permits, milliseconds(number))
  announce(semaphore.channel, available)
  return available
end

local function reclaim(semaphore)
  local expired = count_expired(semaphore)
  if expired > 0 then
    local last = math.min(expired, MOST_AT_ONCE) - 1
    make_available(semaphore, redis.call("ZREMRANGEBYRANK", semaphore.leases, "0", milliseconds(last)))
  end
end

local function lease(semaphore, ids, ends_ms)
  for _, id in ipairs(ids) do
    redis.call("ZADD", semaphore.leases, milliseconds(ends_ms), id)
  end
end

local function prolong(semaphore, ids, ends_ms)
  for _, id in ipairs(ids) do
    if (lease_end(semaphore, id) or 0) < ends_ms then
      redis.call("ZADD", semaphore.leases, milliseconds(ends_ms), id)
    end
  end
end

local function give_back(semaphore, ids)
  local given = 0
  for _, id in ipairs(ids) do
    given = given + redis.call("ZREM", semaphore.leases, id)
  end
  return make_available(semaphore, given)
end
