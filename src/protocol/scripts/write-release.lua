--[[
  write-release: lower the hold counts of writers. A lock whose count becomes 0 is left to the writer's own reads, or freed. Notifies
  the waiters in both cases, and when a lock that stays held now expires sooner than before.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    mark         string, the waiting writer
    nothing      a key that never exists, so that a cluster answers TRYAGAIN while it moves the slot: the keys of reads, which are not
                 declared, may already be on the new server
  KEYS[3n + i]   queue: sorted set, client id -> place, the queue of the clients that wait for write lock i of n; either all locks
                 have one, or none
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no deadline
  then for each lock:
    holder     "<client id>:<thread id>:write"
    heldCount  integer > 0, the highest hold count that the holder may have before this release
    keptCount  integer >= 0, the hold count to leave
    ttlMs      integer > 0, the lock's TTL in milliseconds if holds are kept
    channel    channel of the waiters
    prefix     the prefix of the keys of all read holds of this lock
  then, with queues, for each lock:
    way        as lock-release

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release; a lock left to the writer's own reads counts as freed
  Compat   Redisson RedissonWriteLock.unlockInnerAsync publishes nothing if the writer continues to read. A writer that gives up
           waiting also calls this script, which deletes the writer's mark and notifies the readers that gave way to the writer.
]]
--@include publish
--@include hold-count
--@include now-ms
--@include set-ttl
--@include read-write-holds
local not_after_ms = tonumber(ARGV[1])

local function unmark(mark, holder, channel)
  if redis.call("GET", mark) == holder then
    redis.call("DEL", mark)
    publish(channel, "1")
  end
end

-- Returns how many subscribers got the message, and whether the lock is free now.
local function leave(lock, holder, channel, prefix)
  local longest = longest_read_ms(lock, prefix)
  if longest > 0 then
    redis.call("PEXPIRE", lock, string.format("%.0f", longest))
    redis.call("HSET", lock, "mode", "read")
    redis.call("HDEL", lock, holder)
  else
    redis.call("DEL", lock)
  end
  return publish(channel, "1"), longest == 0
end

local function release(lock, mark, holder, held_count, kept_count, ttl_ms, channel, prefix)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return { "late" }
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    unmark(mark, holder, channel)
    return { "absent" }
  end
  if kept_count ~= "0" and not is_between(count, kept_count, held_count) then
    return { "miscounted", count }
  end
  if kept_count == "0" then
    return leave(lock, holder, channel, prefix)
  end
  local kept_ms = math.max(tonumber(ttl_ms), longest_read_ms(lock, prefix))
  local ends_sooner = set_ttl(lock, string.format("%.0f", kept_ms))
  redis.call("HSET", lock, holder, kept_count)
  if ends_sooner then
    publish(channel, "1")
    return { "released", 1 }
  end
  return { "released" }
end

local looks = #ARGV <= 2 * #KEYS
local lock_count = #KEYS / (looks and 4 or 3)
local replies = { now_ms }
for i = 1, lock_count do
  local lock, mark, at = KEYS[3 * i - 2], KEYS[3 * i - 1], 6 * i - 4
  local holder, held_count, kept_count, ttl_ms = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local channel = ARGV[at + 4]
  local reply, is_free = release(lock, mark, holder, held_count, kept_count, ttl_ms, channel, ARGV[at + 5])
  local is_freed = type(reply) == "number"
  if looks and (is_freed or reply[1] == "absent") and redis.call("EXISTS", KEYS[3 * lock_count + i]) == 1 then
    local of_writers = true
    local queue, way = KEYS[3 * lock_count + i], ARGV[6 * lock_count + 1 + i]
    --@include look-into-queue
    local outcome = look_into_queue(is_freed, is_free, function()
      return redis.call("HGET", lock, "mode") == "write" and client_of(any_holder(lock)) == client
    end)
    if outcome == "given" then
      reply = { outcome, reply }
    elseif outcome == "stands" then
      reply[2] = 1
    end
  end
  replies[i + 1] = reply
end
return replies
