--[[
  fair-acquire: take fair locks in the order of their queues, re-enter them, or join the queue.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next one first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which JVMs consider it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast considers it alive
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      together     1: all locks or none, and no holder is queued; 0: each lock separately
  then the five times of fair-queue, then for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition
    waits      1: a refused holder joins the queue
    channel    channel of the waiters; a JVM's waiter appends its holder, a client of holdfast its client id

  Returns  { serverMs, answer, … } with one answer per lock, as lock-acquire, and
           { "queued", ttlMs, holder, isHead, meetsJvm, isNew }
             the caller waits in the queue. holder: the lock's holder. ttlMs: -1 without a TTL, and -2, with "" as the holder,
             when the lock is free. isHead: 1 if the caller is next. meetsJvm: 1 if a JVM has the lock or is in the queue.
             isNew: 1 if this call put the caller into the queue
  Compat   Redisson RedissonFairLock.tryLockInnerAsync keeps the same queue and scores. All times are the server's. A waiter of
           holdfast gets the score of the last waiter if that is also of holdfast. Behind a JVM it gets a score that is higher by
           a constant wait and a horizon: a JVM that leaves lowers the scores behind it, and must not make a live waiter look
           dead. A lock that is found free goes to the next waiter at once.
]]
--@include server-time
--@include let-end
--@include raise-ttl
--@include fair-queue
--@include refused
local not_after_ms, together = tonumber(ARGV[1]), ARGV[2] == "1"
local now_ms, times = server_time(), fair_times(3)

local function wrong(fair)
  return { "wrong-type", wrong_type(fair) }
end

local function refusal_of_held(fair, holder, held_count)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local count = counts_of(fair)[holder]
  if count or fair.is_free then
    fair.found = look(fair, holder)
  end
  if fair.is_wrong then
    return wrong(fair)
  end
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
  if counts_of(fair)[holder] then
    return true
  end
  return fair.is_free and is_next(fair, holder)
end

-- The new holder may have waited in the queue: removes its entries from all keys of the queue, even if one of these keys was lost.
local function leave_if_there(fair, holder)
  local found, head = fair.found, front_of(fair)[1]
  if head == holder then
    leave_front(fair, now_ms, times)
  elseif found.timeout_ms or found.alive_ms or (head and not is_whole(fair)) then
    leave(fair, holder, found, now_ms, times)
  end
end

-- Fails the call before the lock is written if the holder cannot leave the queue: otherwise the holder would be granted the lock again.
local function demand_leave(fair)
  local found = fair.found
  if not found.timeout_ms and not found.alive_ms and not found.place then
    return
  end
  if is_forbidden("LREM", fair.queue) then
    redis.call("LREM", fair.queue, 1, "")
  elseif is_forbidden("ZREM", fair.timeouts) then
    redis.call("ZREM", fair.timeouts, "")
  end
end

local function take(fair, holder, lease_ms, held_count)
  local count, count_before = string.format("%.0f", held_count + 1), counts_of(fair)[holder]
  local ttl_ms = held_count > 0 and ttl_of(fair)
  -- A waiter that was granted the lock already has this count: a full server would refuse to write it again.
  local is_repeat = count_before == count
  if not is_repeat then
    demand_end(fair.lock, lease_ms)
    demand_leave(fair)
    local written = redis.pcall("HSET", fair.lock, holder, count)
    if type(written) == "table" then
      return refused(written.err)
    end
  end
  if is_repeat and held_count > 0 then
    raise_ttl(fair.lock, lease_ms, true)
  elseif held_count == 0 or ttl_ms < tonumber(lease_ms) then
    let_end(fair.lock, lease_ms, holder, count_before, not count_before)
  end
  lock_changed(fair)
  if held_count == 0 then
    leave_if_there(fair, holder)
  end
  return { "held" }
end

-- Returns whether the holder is new in the queue, and whether it is the head. If the holder cannot be queued, the third value is the
-- answer.
local function push(fair, holder)
  local scored = read(fair, "ZCARD", fair.timeouts)
  if length_of(fair) ~= scored then
    -- Scores were lost: the holder may be in the queue without a score.
    local place = read(fair, "LPOS", fair.queue, holder)
    if fair.is_wrong then
      return nil, nil, wrong(fair)
    elseif place then
      return false, place == 0
    end
  end
  demand_end(fair.queue, milliseconds(DAY_MS))
  local length = redis.pcall("RPUSH", fair.queue, holder)
  if type(length) == "table" then
    return nil, nil, refused(length.err)
  end
  queue_changed(fair)
  fair.length = length
  if length == 1 and type(redis.pcall("PEXPIRE", fair.queue, milliseconds(DAY_MS))) == "table" then
    redis.call("LREM", fair.queue, -1, holder)
    redis.call("PEXPIRE", fair.queue, milliseconds(DAY_MS))
  end
  return true, length == 1
end

local function is_queued(fair, timeout_ms, holder)
  return timeout_ms and (is_whole(fair) or redis.call("LPOS", fair.queue, holder))
end

local function stand_in_queue(fair, holder)
  local timeout_ms, is_new = read(fair, "ZSCORE", fair.timeouts, holder), false
  local is_known = not fair.is_wrong and is_queued(fair, timeout_ms, holder)
  if fair.is_wrong then
    return wrong(fair)
  end
  local is_first = not top_of(fair).holder
  ttl_of(fair)
  local is_head
  if is_known then
    is_head = front_of(fair)[1] == holder
  else
    local answer
    is_new, is_head, answer = push(fair, holder)
    if answer then
      return answer
    end
  end
  -- A full server refuses the ZADD unless the script has already written. If `push` has not written, `keep_queue` does.
  if not is_new and not fair.is_kept then
    keep_queue(fair, now_ms)
    fair.is_kept = true
  end
  local until_ms = milliseconds(now_ms + times.alive_ms)
  local added = redis.pcall("ZADD", fair.alive, until_ms, holder)
  if type(added) == "table" then
    if is_new then
      redis.call("LREM", fair.queue, -1, holder)
    end
    return read(fair, "ZADD", fair.alive, until_ms, holder) or wrong(fair)
  end
  if added == 1 then
    keep_signs_of_life(fair, times)
  end
  if is_new or not timeout_ms then
    local ms, top_ms = timeout_at_end(fair, now_ms, times), top_of(fair).ms
    redis.call("ZADD", fair.timeouts, milliseconds(ms), holder)
    fair.top = { holder = holder, ms = ms }
    if is_first then
      keep_queue(fair, now_ms)
    else
      fair.is_to_be_kept = fair.is_to_be_kept or ms > top_ms or is_head or not is_new
    end
  end
  local is_near_jvm = meets_jvm(fair, now_ms)
  return { "queued", ttl_of(fair), fair.holder, is_head and 1 or 0, is_near_jvm, is_new and 1 or 0 }
end

local function acquire(fair, holder, lease_ms, held_count, waits)
  if is_to_be_had(fair, holder) then
    return take(fair, holder, lease_ms, held_count)
  end
  if fair.is_free then
    pass_on(fair, now_ms, times)
  end
  if waits then
    return stand_in_queue(fair, holder)
  end
  counts_of(fair)
  if fair.is_free then
    local grace_ms = times.grant_ms > 0 and times.grant_ms or times.alive_ms
    return { "busy", grace_ms, front_of(fair)[1] or "" }
  end
  return { "busy", ttl_of(fair), fair.holder }
end

local function answer_all(answer)
  local answers = { now_ms }
  for i = 1, #KEYS / 4 do
    local at = 3 + 5 * i
    answers[i + 1] = answer(fair_lock_at(4 * i - 3, ARGV[at + 4]), at)
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
local replies = answer_all(function(fair, at)
  local holder, held_count = ARGV[at], tonumber(ARGV[at + 2])
  local answer = refusal_of_held(fair, holder, held_count)
  if not answer and blocked and is_to_be_had(fair, holder) then
    return { "free" }
  end
  return answer or acquire(fair, holder, ARGV[at + 1], held_count, ARGV[at + 3] == "1" and not together)
end)
finish(now_ms)
return replies
