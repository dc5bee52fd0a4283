--[[
  fair-refresh: record that waiters in fair queues are alive, and answer their states. A lock that is found free goes to the next
  waiter, because no release passes on a lock whose TTL has ended.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next one first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which JVMs consider it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast considers it alive
  ARGV         the five times of fair-queue, then for each lock:
    channel    channel of the waiters; a JVM's waiter appends its holder, a client of holdfast its client id
    count      how many holders follow
    holder, …  "<client id>:<thread id>"

  Returns  { serverMs, { answer, … }, … } with one list per lock and one answer per holder:
           { "queued", ttlMs, holder, isHead, meetsJvm }  as fair-acquire
           { "granted" }                                  this holder has the lock
           { "gone" }                                     this holder has lost its place
  Compat   Redisson has no signs of life: a waiter of a JVM loses its place at the time that the score gives.
]]
--@include server-time
--@include fair-queue
local now_ms, times = server_time(), fair_times(1)

-- Repairs a queue whose keys were lost: gives each waiter in the queue a score again, and removes scores without a waiter.
local function mend(fair)
  local stands, added, stale = {}, {}, {}
  local waiting, scores = redis.call("LRANGE", fair.queue, 0, -1), redis.call("ZRANGE", fair.timeouts, 0, -1)
  for i = 1, #waiting do
    stands[waiting[i]] = true
  end
  for i = 1, #scores do
    if stands[scores[i]] then
      stands[scores[i]] = nil
    else
      stale[#stale + 1] = scores[i]
    end
  end
  for i = 1, #waiting do
    if stands[waiting[i]] then
      stands[waiting[i]] = nil
      added[#added + 1] = waiting[i]
    end
  end
  local timeout_ms = milliseconds(least_timeout(now_ms, times))
  -- A full server refuses the ZADD unless the script has already written, so an expiry is set first.
  keep_signs_of_life(fair)
  for i = 1, #added do
    redis.call("ZADD", fair.timeouts, timeout_ms, added[i])
  end
  for i = 1, #stale do
    redis.call("ZREM", fair.timeouts, stale[i])
  end
  fair.top, fair.living, fair.is_to_be_kept = nil, nil, true
end

-- Sends one ZADD for all waiters: a call has few enough of them to unpack.
local function mark_alive(fair, waiters)
  local until_ms, signs = milliseconds(now_ms + times.alive_ms), {}
  for i = 1, #waiters do
    signs[2 * i - 1], signs[2 * i] = until_ms, waiters[i]
  end
  -- A full server refuses the ZADD unless the script has already written, so an expiry is set first.
  local is_there = keep_signs_of_life(fair) == 1
  redis.call("ZADD", fair.alive, unpack(signs))
  fair.has_signs_of_life = not is_there
end

-- Raises only low scores, because writing a score costs the server more than reading it.
local function raise_timeouts(fair, waiters, timeouts)
  local timeout_ms, raised = milliseconds(least_timeout(now_ms, times)), {}
  for i = 1, #waiters do
    if is_low(tonumber(timeouts[i]), now_ms, times) then
      raised[#raised + 1] = timeout_ms
      raised[#raised + 1] = waiters[i]
    end
  end
  if #raised > 0 then
    redis.call("ZADD", fair.timeouts, unpack(raised))
    fair.top, fair.is_to_be_kept = nil, true
  end
  return #raised > 0
end

-- Returns the waiters that are in the queue, and their scores.
local function standing(fair, waiters)
  local there, there_timeouts = {}, {}
  local timeouts = #waiters > 0 and read(fair, "ZMSCORE", fair.timeouts, unpack(waiters))
  for i = 1, timeouts and #waiters or 0 do
    if timeouts[i] then
      there[#there + 1] = waiters[i]
      there_timeouts[#there] = timeouts[i]
    end
  end
  return there, there_timeouts
end

local function news(fair, waiters)
  local counts, answers = counts_of(fair), {}
  front_of(fair)
  local there, timeouts = standing(fair, waiters)
  living_of(fair, now_ms)
  if fair.is_wrong then
    return answers
  end
  if #there > 0 then
    mark_alive(fair, there)
  end
  local is_raised = raise_timeouts(fair, there, timeouts)
  if (#there < #waiters or not is_raised) and not is_whole(fair) then
    mend(fair)
    there, timeouts = standing(fair, waiters)
    if #there > 0 then
      mark_alive(fair, there)
    end
  end
  local is_near_jvm = meets_jvm(fair, now_ms)
  if fair.is_free then
    pass_on(fair, now_ms, times)
    counts = counts_of(fair)
  end
  local is_there, head = {}, front_of(fair)[1]
  for i = 1, #there do
    is_there[there[i]] = true
  end
  for i = 1, #waiters do
    local waiter = waiters[i]
    answers[i] = { "gone" }
    if counts[waiter] then
      answers[i] = { "granted" }
    elseif is_there[waiter] then
      answers[i] = { "queued", ttl_of(fair), fair.holder, waiter == head and 1 or 0, is_near_jvm }
    end
  end
  return answers
end

local replies, at = { now_ms }, 6
for i = 1, #KEYS / 4 do
  local fair, waiters = fair_lock_at(4 * i - 3, ARGV[at]), {}
  for j = 1, tonumber(ARGV[at + 1]) do
    waiters[j] = ARGV[at + 1 + j]
  end
  replies[i + 1] = news(fair, waiters)
  at = at + 2 + #waiters
end
finish(now_ms)
return replies
