--[[
  fair-acquire: take fair locks in the order of their queues, re-enter them, or stand in the queue.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which a JVM believes it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast does
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      together     1: all locks or none, and nobody stands in a queue; 0: each by itself
  then the five times of fair-queue, then for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition
    waits      1: one who is refused stands in the queue
    channel    where waiters listen, without the holder that each adds

  Returns  { serverMs, answer, … } with one answer per lock, as lock-acquire, and
           { "queued", ttlMs, holder, 0 or 1, 0 or 1 }
             in the queue; ttlMs is -1 without a TTL and -2 when nobody has the lock, holder is empty then;
             1 for the next in line; 1 when this call put it there
  Compat   Redisson RedissonFairLock.tryLockInnerAsync keeps the same queue and scores. Times are the server's; our scores
           are a constant wait and a horizon behind the predecessor's, so that the arithmetic of a JVM that leaves can not
           kill a waiter that lives; a lock that is found free goes to the next at once.
]]
--@include server-time
--@include raise-ttl
--@include fair-queue
--@include any-holder
--@include refused
local not_after_ms, together = tonumber(ARGV[1]), ARGV[2] == "1"
local now_ms, times = server_time(), fair_times(3)

local function refusal_of_held(fair, holder, held_count)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = wrong_type(fair)
  if kind then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", fair.lock, holder)
  if not count then
    return held_count > 0 and { "lost" } or nil
  end
  if tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  return nil
end

local function is_next(fair, holder)
  local head = next_in_line(fair, now_ms, times)
  return not head or head == holder
end

local function is_to_be_had(fair, holder)
  if redis.call("HEXISTS", fair.lock, holder) == 1 then
    return true
  end
  return redis.call("EXISTS", fair.lock) == 0 and is_next(fair, holder)
end

local function take(fair, holder, lease_ms, held_count)
  local count = string.format("%.0f", held_count + 1)
  -- A full server would refuse it also to one who was given the lock.
  if redis.call("HGET", fair.lock, holder) ~= count then
    local written = redis.pcall("HSET", fair.lock, holder, count)
    if type(written) == "table" then
      return refused(written.err)
    end
  end
  if held_count == 0 then
    redis.call("PEXPIRE", fair.lock, lease_ms)
    leave(fair, holder, times)
  else
    raise_ttl(fair.lock, lease_ms)
  end
  return { "held" }
end

local function stand_in_queue(fair, holder)
  local waiting = queue_of(fair)
  local place = place_of(fair, holder)
  local is_new = not place
  if is_new then
    local pushed = redis.pcall("RPUSH", fair.queue, holder)
    if type(pushed) == "table" then
      return refused(pushed.err)
    end
    place = #waiting + 1
    waiting[place] = holder
  end
  sign_of_life(fair, holder, now_ms, times)
  raise_timeout(fair, holder, waiting[place - 1], now_ms, times)
  return { "queued", redis.call("PTTL", fair.lock), any_holder(fair.lock), place == 1 and 1 or 0, is_new and 1 or 0 }
end

local function acquire(fair, holder, lease_ms, held_count, waits)
  if is_to_be_had(fair, holder) then
    return take(fair, holder, lease_ms, held_count)
  end
  if redis.call("EXISTS", fair.lock) == 0 then
    pass_on(fair, now_ms, times)
  end
  if waits then
    return stand_in_queue(fair, holder)
  end
  local ttl_ms = redis.call("PTTL", fair.lock)
  if ttl_ms == -2 then
    local grace_ms = times.grant_ms > 0 and times.grant_ms or times.alive_ms
    return { "busy", grace_ms, queue_of(fair)[1] or "" }
  end
  return { "busy", ttl_ms, any_holder(fair.lock) }
end

local function answer_all(answer)
  local answers = { now_ms }
  for i = 1, #KEYS / 4 do
    local at = 3 + 5 * i
    answers[i + 1] = answer(fair_lock(4 * i - 3, ARGV[at + 4]), at)
  end
  return answers
end

local blocked = false
if together then
  answer_all(function(fair, at)
    local answer = refusal_of_held(fair, ARGV[at], tonumber(ARGV[at + 2]))
    blocked = blocked or answer ~= nil or not is_to_be_had(fair, ARGV[at])
  end)
end
return answer_all(function(fair, at)
  local holder, held_count = ARGV[at], tonumber(ARGV[at + 2])
  local answer = refusal_of_held(fair, holder, held_count)
  if not answer and blocked and is_to_be_had(fair, holder) then
    return { "free" }
  end
  return answer or acquire(fair, holder, ARGV[at + 1], held_count, ARGV[at + 3] == "1" and not together)
end)
