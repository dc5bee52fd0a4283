--[[
  fair-refresh: signs of life of those who stand in the queues of fair locks, and what has become of them. A lock that is
  found free goes to the next in line: nobody may have been there to pass it on.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which a JVM believes it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast does
  ARGV         the five times of fair-queue, then for each lock:
    channel    where waiters listen, without the holder that each adds
    count      how many holders follow
    holder, …  "<client id>:<thread id>"

  Returns  { serverMs, { answer, … }, … } with one list per lock and one answer per holder:
           { "queued", ttlMs, holder, 0 or 1 }  as fair-acquire
           { "granted" }                        it has the lock
           { "gone" }                           it has lost its place
  Compat   Redisson has no signs of life: a waiter there has its place until its score, and then loses it.
]]
--@include server-time
--@include fair-queue
--@include any-holder
local now_ms, times = server_time(), fair_times(1)

local function places(fair)
  local place_by_holder, before = {}, nil
  for i, holder in ipairs(queue_of(fair)) do
    place_by_holder[holder] = { first = i == 1, before = before }
    before = holder
  end
  return place_by_holder
end

local function news(fair, first_at, count)
  local place_by_holder, answers = places(fair), {}
  -- A full server adds nothing unless the script has written before.
  keep_signs_of_life(fair, times)
  for at = first_at, first_at + count - 1 do
    if place_by_holder[ARGV[at]] then
      mark_alive(fair, ARGV[at], now_ms, times)
    end
  end
  if redis.call("EXISTS", fair.lock) == 0 then
    pass_on(fair, now_ms, times)
    place_by_holder = places(fair)
  end
  keep_signs_of_life(fair, times)
  local ttl_ms, holder = redis.call("PTTL", fair.lock), any_holder(fair.lock)
  for at = first_at, first_at + count - 1 do
    local waiter = ARGV[at]
    local place = place_by_holder[waiter]
    local answer = { "gone" }
    if redis.call("HEXISTS", fair.lock, waiter) == 1 then
      answer = { "granted" }
    elseif place then
      raise_timeout(fair, waiter, place.before, now_ms, times)
      answer = { "queued", ttl_ms, holder, place.first and 1 or 0 }
    end
    answers[#answers + 1] = answer
  end
  return answers
end

local replies = { now_ms }
local at = 6
for i = 1, #KEYS / 4 do
  local fair, count = fair_lock(4 * i - 3, ARGV[at]), tonumber(ARGV[at + 1])
  replies[i + 1] = wrong_type(fair) and {} or news(fair, at + 2, count)
  at = at + 2 + count
end
return replies
