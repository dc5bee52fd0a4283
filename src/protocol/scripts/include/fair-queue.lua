--[[
  fair-queue: who is next for a fair lock, and how the lock gets there. A fair lock is { lock, queue, timeouts, alive,
  channel }. A waiter of holdfast is one whose client id is a UUID of version 8 with our protocol's number: it may be
  given the lock. Any other is a JVM's and is told to come. All times are the server's.
]]
--@include publish
local function is_ours(holder)
  return string.sub(holder, 15, 18) == "8001"
end

local function milliseconds(number)
  return string.format("%.0f", number)
end

local function keep_signs_of_life(fair, times)
  redis.call("PEXPIRE", fair.alive, milliseconds(10 * times.alive_ms))
end

local function mark_alive(fair, holder, now_ms, times)
  redis.call("ZADD", fair.alive, milliseconds(now_ms + times.alive_ms), holder)
end

local function sign_of_life(fair, holder, now_ms, times)
  -- A full server adds nothing unless the script has written before.
  keep_signs_of_life(fair, times)
  mark_alive(fair, holder, now_ms, times)
  keep_signs_of_life(fair, times)
end

-- Who waits, the next first. Asked for once; whoever changes the queue changes this as well.
local function queue_of(fair)
  fair.waiting = fair.waiting or redis.call("LRANGE", fair.queue, 0, -1)
  return fair.waiting
end

local function place_of(fair, holder)
  for place, other in ipairs(queue_of(fair)) do
    if other == holder then
      return place
    end
  end
  return nil
end

-- Returns the place that is free now, behind the last one when it had none.
local function forget(fair, holder)
  local place = place_of(fair, holder)
  redis.call("ZREM", fair.timeouts, holder)
  redis.call("ZREM", fair.alive, holder)
  redis.call("LREM", fair.queue, 1, holder)
  if place then
    table.remove(fair.waiting, place)
  end
  return place or #fair.waiting + 1
end

local function is_dead(fair, holder, now_ms, times)
  if is_ours(holder) then
    local alive_ms = redis.call("ZSCORE", fair.alive, holder)
    if not alive_ms then
      sign_of_life(fair, holder, now_ms, times)
    end
    return alive_ms and tonumber(alive_ms) <= now_ms
  end
  local timeout_ms = redis.call("ZSCORE", fair.timeouts, holder)
  if not timeout_ms then
    redis.pcall("ZADD", fair.timeouts, milliseconds(now_ms), holder)
  end
  return timeout_ms and tonumber(timeout_ms) + times.grace_ms <= now_ms
end

local function next_in_line(fair, now_ms, times)
  local waiting = queue_of(fair)
  while waiting[1] and is_dead(fair, waiting[1], now_ms, times) do
    forget(fair, waiting[1])
  end
  return waiting[1]
end

local function leave(fair, holder, times)
  local waiting = queue_of(fair)
  -- Also one whose place is lost: the scores have no TTL. Before the others' scores: a full server may only remove first.
  local first_behind = forget(fair, holder)
  for place = first_behind, #waiting do
    local other = waiting[place]
    if not is_ours(other) and redis.call("ZSCORE", fair.timeouts, other) then
      redis.call("ZINCRBY", fair.timeouts, milliseconds(-times.wait_ms), other)
    end
  end
end

local function pass_on(fair, now_ms, times)
  local head = next_in_line(fair, now_ms, times)
  if not head then
    return
  end
  local message = "0"
  if is_ours(head) and times.grant_ms > 0 then
    local given = redis.pcall("HSET", fair.lock, head, "1")
    if type(given) == "table" then
      return
    end
    redis.call("PEXPIRE", fair.lock, milliseconds(times.grant_ms))
    leave(fair, head, times)
    message = milliseconds(now_ms + times.grant_ms)
  end
  publish(string.format("%s:%s", fair.channel, head), message)
end

local function raise_timeout(fair, holder, predecessor, now_ms, times)
  local before_ms = predecessor and redis.call("ZSCORE", fair.timeouts, predecessor)
  local timeout_ms = math.max(now_ms, before_ms and tonumber(before_ms) or 0) + times.wait_ms + times.horizon_ms
  local known_ms = redis.call("ZSCORE", fair.timeouts, holder)
  if not known_ms or tonumber(known_ms) < timeout_ms then
    redis.call("ZADD", fair.timeouts, milliseconds(timeout_ms), holder)
  end
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

local function fair_lock(key_at, channel)
  return {
    lock = KEYS[key_at],
    queue = KEYS[key_at + 1],
    timeouts = KEYS[key_at + 2],
    alive = KEYS[key_at + 3],
    channel = channel,
  }
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
