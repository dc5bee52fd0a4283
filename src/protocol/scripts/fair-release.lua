--[[
  fair-release: lower hold counts; give the locks whose count becomes 0 to the next in line. One who is still in the queue
  is taken out of it instead. Each lock is answered by itself.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which a JVM believes it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast does
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no limit
  then the five times of fair-queue, then for each lock:
    holder     "<client id>:<thread id>"
    heldCount  integer > 0, the holder's hold count before this release, at most
    keptCount  integer >= 0, the hold count to leave; 0 frees the lock whatever the count was
    ttlMs      integer > 0, milliseconds the lock is to live on when holds are kept
    channel    where waiters listen, without the holder that each adds

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release
  Compat   Redisson RedissonFairLock.unlockInnerAsync and acquireFailedAsync. A waiter of holdfast has the lock when it
           hears of it: the message is the epoch milliseconds until which it may use it without asking. A JVM's waiter is
           told to come. One who gives up its place tells the next if the lock is free.
]]
--@include hold-count
--@include server-time
--@include fair-queue
local not_after_ms = tonumber(ARGV[1])
local now_ms, times = server_time(), fair_times(2)

local function give_up_place(fair, holder)
  leave(fair, holder, times)
  if redis.call("EXISTS", fair.lock) == 0 then
    pass_on(fair, now_ms, times)
  end
  return { "absent" }
end

-- What there is of a holder: its hold count, and whether it has left anything where waiters are.
local function look(fair, holder, ask)
  local count = ask("HGET", fair.lock, holder)
  local timeout_ms, alive_ms = ask("ZSCORE", fair.timeouts, holder), ask("ZSCORE", fair.alive, holder)
  local waiting = ask("LRANGE", fair.queue, 0, -1)
  local failed = type(count) == "table" or type(timeout_ms) == "table" or type(alive_ms) == "table" or waiting.err
  if failed then
    return nil
  end
  fair.waiting = waiting
  return { count = count, waits = timeout_ms or alive_ms or place_of(fair, holder) }
end

local function release(fair, holder, held_count, kept_count, ttl_ms)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return { "late" }
  end
  local found = look(fair, holder, redis.pcall)
  local kind = not found and wrong_type(fair)
  if kind then
    return { "wrong-type", kind }
  end
  -- What else it is that the server refuses fails the call.
  found = found or look(fair, holder, redis.call)
  local count = found.count
  if not count then
    return give_up_place(fair, holder)
  end
  if kept_count == "0" then
    redis.call("DEL", fair.lock)
    if found.waits then
      leave(fair, holder, times)
    end
    pass_on(fair, now_ms, times)
    return { "released" }
  end
  if not is_between(count, kept_count, held_count) then
    return { "miscounted", count }
  end
  redis.call("PEXPIRE", fair.lock, ttl_ms)
  redis.call("HSET", fair.lock, holder, kept_count)
  return { "released" }
end

local replies = { now_ms }
for i = 1, #KEYS / 4 do
  local at = 2 + 5 * i
  local fair = fair_lock(4 * i - 3, ARGV[at + 4])
  replies[i + 1] = release(fair, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
return replies
