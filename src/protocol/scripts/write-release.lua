--[[
  write-release: lower the hold counts of writers; leave the locks to the writers' own readers, or free them. Either way
  the waiters are told, and also when a lock that is held on falls sooner than before.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    mark         string, the writer that waits
    nothing      never exists: while a cluster moves the slot it so answers TRYAGAIN, as the keys of reads, which are not named, may be
                 at the new server
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no limit
  then for each lock:
    holder     "<client id>:<thread id>:write"
    heldCount  integer > 0, the holder's hold count before this release, at most
    keptCount  integer >= 0, the hold count to leave
    ttlMs      integer > 0, milliseconds the lock is to live on when holds are kept
    channel    where waiters listen
    prefix     what the keys of all read holds of this lock begin with

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release
  Compat   Redisson RedissonWriteLock.unlockInnerAsync, which publishes nothing when the writer goes on reading. A writer
           that gives up waiting calls this as well: its mark is deleted, and the readers that gave way to it are told.
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

local function leave(lock, holder, channel, prefix)
  local longest = longest_read_ms(lock, prefix)
  if longest > 0 then
    redis.call("PEXPIRE", lock, string.format("%.0f", longest))
    redis.call("HSET", lock, "mode", "read")
    redis.call("HDEL", lock, holder)
  else
    redis.call("DEL", lock)
  end
  publish(channel, "1")
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
    leave(lock, holder, channel, prefix)
  else
    local kept_ms = math.max(tonumber(ttl_ms), longest_read_ms(lock, prefix))
    local ends_sooner = set_ttl(lock, string.format("%.0f", kept_ms))
    redis.call("HSET", lock, holder, kept_count)
    if ends_sooner then
      publish(channel, "1")
    end
  end
  return { "released" }
end

local replies = { now_ms }
for i = 1, #KEYS / 3 do
  local lock, mark, at = KEYS[3 * i - 2], KEYS[3 * i - 1], 6 * i - 4
  local holder, held_count, kept_count, ttl_ms = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  replies[i + 1] = release(lock, mark, holder, held_count, kept_count, ttl_ms, ARGV[at + 4], ARGV[at + 5])
end
return replies
