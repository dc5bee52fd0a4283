--[[
  fair-release: lower hold counts. A lock with count 0 goes to the next waiter. If a lock that stays held now expires sooner, the next
  waiter is told to ask. A holder that is still in the queue is only removed from the queue. Each lock has its own answer.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    queue        list of waiting holders, the next one first
    timeouts     sorted set, waiting holder -> epoch milliseconds until which JVMs consider it alive
    alive        sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast considers it alive
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no deadline
  then the five times of fair-queue, then for each lock:
    holder     "<client id>:<thread id>"
    heldCount  integer > 0, the highest hold count that the holder may have before this release
    keptCount  integer >= 0, the hold count to leave; 0 frees the lock whatever its count
    ttlMs      integer > 0, the lock's TTL in milliseconds if holds are kept
    channel    channel of the waiters; a JVM's waiter appends its holder, a client of holdfast its client id

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release
  Compat   Redisson RedissonFairLock.unlockInnerAsync releases, acquireFailedAsync leaves the queue. A waiter of holdfast is granted
           the lock: the message "<thread id>:<milliseconds>" on its client's channel gives the end of the grant in epoch
           milliseconds. A JVM's waiter is told to ask. When a waiter leaves the queue and the lock is free, the next waiter gets its
           message.
]]
--@include hold-count
--@include server-time
--@include set-ttl
--@include fair-queue
local not_after_ms = tonumber(ARGV[1])
local now_ms, times = server_time(), fair_times(2)

local function give_up_place(fair, holder, found)
  leave(fair, holder, found, now_ms, times)
  counts_of(fair)
  if fair.is_free then
    pass_on(fair, now_ms, times)
  end
  return { "absent" }
end

local function release(fair, holder, held_count, kept_count, ttl_ms)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return { "late" }
  end
  local found = look(fair, holder)
  if fair.is_wrong then
    return { "wrong-type", wrong_type(fair) }
  end
  local count = found.count
  if not count then
    return give_up_place(fair, holder, found)
  end
  if kept_count == "0" then
    redis.call("DEL", fair.lock)
    lock_changed(fair)
    if found.timeout_ms or found.alive_ms or found.place then
      leave(fair, holder, found, now_ms, times)
    end
    pass_on(fair, now_ms, times)
    return { "released" }
  end
  if not is_between(count, kept_count, held_count) then
    return { "miscounted", count }
  end
  local ends_sooner = set_ttl(fair.lock, ttl_ms)
  redis.call("HSET", fair.lock, holder, kept_count)
  lock_changed(fair)
  local head = ends_sooner and next_in_line(fair, now_ms, times)
  if head and head ~= "" then
    tell(fair, head, 0)
  end
  return { "released" }
end

local replies = { now_ms }
for i = 1, #KEYS / 4 do
  local at = 2 + 5 * i
  local fair = fair_lock_at(4 * i - 3, ARGV[at + 4])
  replies[i + 1] = release(fair, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
finish(now_ms)
return replies
