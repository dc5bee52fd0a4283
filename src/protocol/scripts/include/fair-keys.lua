--[[
  fair-keys: the stored state of a fair lock { lock, queue, timeouts, alive, channel } and its waiters, and the lifetime of its
  keys. The client id of a waiter of holdfast is a UUID of version 8 with our protocol's number; any other waiter is a
  JVM's. All times are the server's.

  A script reads the first two waiters of a queue, the highest score and the stored state of the holders of its call, and remembers
  them until the call ends. It reads a whole queue only when a key was lost: each waiter in the queue has a score, so a different
  number of waiters and scores shows the loss.
]]
local DAY_MS = 24 * 60 * 60 * 1000
-- A JVM may wait for as long as a number allows, but an expiry must be a valid time.
local LONGEST_MS = 36500 * DAY_MS
-- How many scores are lowered when a waiter leaves.
local MOST_LOWERED = 500

local function is_ours(holder)
  return string.sub(holder, 15, 18) == "8001"
end

-- Splits a holder of holdfast into its two parts. The client id is a UUID of 36 characters.
local function client_and_thread(holder)
  return string.sub(holder, 1, 36), string.sub(holder, 38)
end

local function milliseconds(number)
  return string.format("%.0f", number)
end

-- Like redis.call, but for a key of another type it returns nil and sets fair.is_wrong.
local function read(fair, ...)
  local ask, insist = redis.pcall, redis.call
  local reply = ask(...)
  local message = type(reply) == "table" and reply.err
  if not message then
    return reply
  end
  if not string.find(message, "WRONGTYPE", 1, true) then
    return insist(...)
  end
  fair.is_wrong = true
  return nil
end

local function wrong_type(fair)
  local parts = { fair.lock, "hash", fair.queue, "list", fair.timeouts, "zset", fair.alive, "zset" }
  for i = 1, #parts, 2 do
    local found = redis.call("TYPE", parts[i]).ok
    if found ~= "none" and found ~= parts[i + 1] then
      return found
    end
  end
  return nil
end

-- Hold counts by holder. Sets fair.holder to one of the holders, or "" when the lock is free.
local function counts_of(fair)
  if not fair.counts then
    fair.counts, fair.holder = {}, ""
    local fields = read(fair, "HGETALL", fair.lock) or {}
    for i = 1, #fields, 2 do
      fair.counts[fields[i]] = fields[i + 1]
      if fields[i] ~= "mode" and fair.holder == "" then
        fair.holder = fields[i]
      end
    end
    fair.is_free = #fields == 0
  end
  return fair.counts
end

local function ttl_of(fair)
  fair.ttl_ms = fair.ttl_ms or redis.call("PTTL", fair.lock)
  return fair.ttl_ms
end

local function lock_changed(fair)
  fair.counts, fair.ttl_ms = nil, nil
end

-- The first two waiters of the queue.
local function front_of(fair)
  fair.front = fair.front or read(fair, "LRANGE", fair.queue, 0, 1) or {}
  return fair.front
end

-- The number of waiters in the queue.
local function length_of(fair)
  fair.length = fair.length or read(fair, "LLEN", fair.queue)
  return fair.length
end

local function queue_changed(fair)
  fair.front, fair.head_alive_ms, fair.length = nil, nil, nil
end

local function timeout_of(fair, holder)
  return tonumber(redis.call("ZSCORE", fair.timeouts, holder) or nil)
end

-- The highest score and its waiter, usually the last waiter in the queue.
local function top_of(fair)
  if not fair.top then
    local top = read(fair, "ZRANGE", fair.timeouts, -1, -1, "WITHSCORES") or {}
    fair.top = { holder = top[1], ms = tonumber(top[2] or 0) }
  end
  return fair.top
end

-- False when the queue or the scores were lost.
local function is_whole(fair)
  return length_of(fair) == read(fair, "ZCARD", fair.timeouts)
end

-- How many waiters of holdfast are alive by their signs of life.
local function living_of(fair, now_ms)
  fair.living = fair.living or read(fair, "ZCOUNT", fair.alive, milliseconds(now_ms), "+inf")
  return fair.living
end

-- 1 if a JVM has the lock or is in the queue. If a JVM is in the queue, the queue has more entries than signs of life. A call checks this
-- only once: each waiter of ours that the call adds has one entry and one sign of life. A dead waiter of ours counts as a JVM.
local function meets_jvm(fair, now_ms)
  if not fair.meets_jvm then
    counts_of(fair)
    local is_held = fair.holder ~= "" and not is_ours(fair.holder)
    fair.meets_jvm = (is_held or length_of(fair) > living_of(fair, now_ms)) and 1 or 0
  end
  return fair.meets_jvm
end

-- Reads the stored state of a holder, and of the head if it is needed. Reads each key, so that a wrong type is found before a
-- write.
local function look(fair, holder)
  local found = { count = counts_of(fair)[holder] }
  found.timeout_ms = read(fair, "ZSCORE", fair.timeouts, holder)
  if found.count or fair.is_free then
    local head = front_of(fair)[1]
    local alive_ms = read(fair, "ZMSCORE", fair.alive, holder, head or holder) or {}
    found.alive_ms, fair.head_alive_ms = alive_ms[1], alive_ms[2]
    found.place = head == holder and 0 or nil
  else
    found.alive_ms = read(fair, "ZSCORE", fair.alive, holder)
    found.place = read(fair, "LPOS", fair.queue, holder) or nil
  end
  return found
end

-- The queue and its scores expire a day after the last waiter could have been alive, so that dead waiters leave no key behind.
local function keep_queue(fair, now_ms)
  local left_ms = math.max(top_of(fair).ms - now_ms, 0) + DAY_MS
  local ttl_ms = milliseconds(math.min(left_ms, LONGEST_MS))
  redis.call("PEXPIRE", fair.queue, ttl_ms)
  redis.call("PEXPIRE", fair.timeouts, ttl_ms)
end

-- Signs of life live as long as the queue, so that the next call can see that a waiter is dead. If the last sign expired first, the
-- next call would presume that the waiter is alive, and grant it the lock.
local function keep_signs_of_life(fair)
  return redis.call("PEXPIRE", fair.alive, milliseconds(DAY_MS))
end

-- Sets the expiry first, because a full server refuses the ZADD unless the script has already written.
local function sign_of_life(fair, holder, now_ms, times)
  keep_signs_of_life(fair)
  redis.call("ZADD", fair.alive, milliseconds(now_ms + times.alive_ms), holder)
  keep_signs_of_life(fair)
end

-- The lowest score that a waiter of ours may have: the amount that one leaving JVM subtracts, plus a horizon.
local function least_timeout(now_ms, times)
  return now_ms + times.wait_ms + times.horizon_ms
end

-- True once half of the horizon is used up: then the next sign of life raises the score.
local function is_low(timeout_ms, now_ms, times)
  return timeout_ms < now_ms + times.wait_ms + times.horizon_ms / 2
end

-- The score of a new last waiter. If the last waiter is ours and its score is not low, the new waiter gets the same score: so the TTLs of
-- the two keys need not be raised. Behind a JVM, the new score is high enough even after the JVM has left and subtracted its wait.
local function timeout_at_end(fair, now_ms, times)
  local top = top_of(fair)
  if top.holder and not is_ours(top.holder) then
    return math.max(least_timeout(now_ms, times), least_timeout(top.ms, times))
  end
  return is_low(top.ms, now_ms, times) and least_timeout(now_ms, times) or top.ms
end

-- The waiter `left`, with the score `left_ms`, was before the JVM `other` and has left. So the score of `other` is lowered to the score of
-- a waiter that comes now. That score counts from the score of the waiter before `other`, or from the present time if `other` is the head.
-- The scores behind `other` are lowered by the same amount. A JVM that becomes the head after a waiter of ours may have a score in the past.
-- Then its score is raised, because the JVM would otherwise be dropped before it learns that it is next.
local function bring_nearer(fair, place, other, left, left_ms, now_ms, times)
  local other_ms = timeout_of(fair, other)
  if not other_ms then
    return
  end
  local before = place > 0 and redis.call("LINDEX", fair.queue, place - 1)
  local base_ms = before and timeout_of(fair, before) or now_ms + math.max(times.horizon_ms, ttl_of(fair))
  local by_ms = other_ms - base_ms - math.max(0, other_ms - left_ms)
  if place == 0 and other_ms < base_ms and is_ours(left) then
    redis.call("ZADD", fair.timeouts, milliseconds(base_ms), other)
  end
  if by_ms <= 0 then
    return
  end
  local from_ms = milliseconds(other_ms)
  local behind = redis.call("ZRANGE", fair.timeouts, from_ms, "+inf", "BYSCORE", "LIMIT", 0, MOST_LOWERED, "WITHSCORES")
  local lowered = {}
  for i = 1, #behind, 2 do
    local timeout_ms = tonumber(behind[i + 1])
    local nearer_ms = timeout_ms - by_ms
    if is_ours(behind[i]) then
      nearer_ms = math.min(timeout_ms, math.max(nearer_ms, least_timeout(now_ms, times)))
    end
    lowered[i], lowered[i + 1] = milliseconds(nearer_ms), behind[i]
  end
  redis.call("ZADD", fair.timeouts, unpack(lowered))
  fair.top, fair.is_to_be_kept = nil, true
end

local fair_locks, fair_lock_by_key = {}, {}

-- Keeps one table for each lock: several parts of a call may concern the same lock, and share the data that was read.
local function fair_lock(lock, queue, timeouts, alive, channel)
  local fair = fair_lock_by_key[lock]
  if not fair then
    fair = { lock = lock, queue = queue, timeouts = timeouts, alive = alive, channel = channel, looks = 0 }
    fair_lock_by_key[lock] = fair
    fair_locks[#fair_locks + 1] = fair
  end
  return fair
end

local function fair_lock_at(key_at, channel)
  return fair_lock(KEYS[key_at], KEYS[key_at + 1], KEYS[key_at + 2], KEYS[key_at + 3], channel)
end

-- The last step of a call, made once for each lock, even if several parts of the call concern the lock.
local function finish(now_ms)
  for i = 1, #fair_locks do
    if fair_locks[i].is_to_be_kept then
      keep_queue(fair_locks[i], now_ms)
    end
    if fair_locks[i].has_signs_of_life then
      keep_signs_of_life(fair_locks[i])
    end
  end
end

local function fair_times(arg_at)
  return {
    grant_ms = tonumber(ARGV[arg_at]),
    alive_ms = tonumber(ARGV[arg_at + 1]),
    wait_ms = tonumber(ARGV[arg_at + 2]),
    horizon_ms = tonumber(ARGV[arg_at + 3]),
    grace_ms = tonumber(ARGV[arg_at + 4]),
  }
end
