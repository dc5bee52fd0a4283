--[[
  lock-release: lower hold counts; free the locks whose count becomes 0 and tell their waiters.
  Each lock is answered by itself.

  KEYS[i]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no limit
  then for each lock:
    holder     "<client id>:<thread id>"
    heldCount  integer > 0, the holder's hold count before this release, at most
    keptCount  integer >= 0, the hold count to leave; 0 frees the lock whatever the count was
    ttlMs      integer > 0, milliseconds the lock is to live on when holds are kept
    channel    where waiters listen

  Returns  { serverMs, answer, … } with one answer per lock:
           { "released" }               done; also when this is a repeat of a call that lowered the count
           { "absent" }                 the holder is not there
           { "late" }                   notAfterMs has passed
           { "wrong-type", type }       the key is no hash
           { "miscounted", holdCount }  holds are to be kept, but the count is not between keptCount and heldCount
  Compat   Redisson RedissonLock.unlockInnerAsync stores and publishes the same. No unlock latch is written.
           The first write is a DEL or a PEXPIRE, which a full server still accepts. A user who may not publish still
           frees the lock; waiters then live by its TTL.
]]
--@include publish
--@include hold-count
--@include server-time
local not_after_ms = tonumber(ARGV[1])
local now_ms = server_time()

local function release(lock, holder, held_count, kept_count, ttl_ms, channel)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return { "late" }
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    return { "absent" }
  end
  if kept_count ~= "0" and not is_between(count, kept_count, held_count) then
    return { "miscounted", count }
  end
  if kept_count == "0" then
    redis.call("DEL", lock)
    publish(channel, "0")
  else
    redis.call("PEXPIRE", lock, ttl_ms)
    redis.call("HSET", lock, holder, kept_count)
  end
  return { "released" }
end

local replies = { now_ms }
for i, lock in ipairs(KEYS) do
  local at = 5 * i - 3
  replies[i + 1] = release(lock, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
end
return replies
