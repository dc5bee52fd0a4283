--[[
  read-release: lower the hold counts of readers, and free each lock that has no live hold left. Notifies the waiters of a lock that is
  freed, or that now expires sooner than before.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    hold, …      strings, the keys of the holder's heldCount holds; then a key that never exists, so that a cluster answers TRYAGAIN
                 while it moves the slot: the keys of other readers, which are not declared, may already be on the new server
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no deadline
  then for each lock:
    holder     "<client id>:<thread id>"
    heldCount  integer > 0, the highest hold count that the holder may have before this release
    keptCount  integer >= 0, the hold count to leave
    channel    channel of the waiters
    prefix     the prefix of the keys of all holds of this lock
    keptMs, …  integers > 0, the new TTL of each kept hold; keptCount of them

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release
  Compat   Redisson RedissonReadLock.unlockInnerAsync does the same, but deletes the last key whichever hold is released; here
           each kept hold keeps its own lease. The TTL of a lock that also has a writer is never lowered. The script builds
           the keys of other readers from the fields of the hash, as Redisson does. A full server still accepts the first
           write.
]]
--@include publish
--@include hold-count
--@include now-ms
--@include raise-ttl
--@include set-ttl
--@include read-write-holds
local not_after_ms = tonumber(ARGV[1])

local function keep(key_at, arg_at, held_count, kept_count)
  for i = 1, kept_count do
    local hold, kept_ms = KEYS[key_at + i], ARGV[arg_at + 4 + i]
    if redis.call("PEXPIRE", hold, kept_ms) == 0 then
      redis.pcall("SET", hold, "1", "PX", kept_ms)
    end
  end
  for i = kept_count + 1, held_count do
    redis.call("DEL", KEYS[key_at + i])
  end
end

-- If many readers leave, each release would wake all writers, so writers are told only if the TTL of the lock falls to about half. If the
-- reader keeps holds, writers are also told of smaller changes, as with any other holder.
local function worth_telling_share(kept_count)
  return kept_count > 0 and WORTH_TELLING_SHARE or 0.9
end

local function settle(lock, prefix, channel, kept_count)
  local longest = longest_read_ms(lock, prefix)
  if redis.call("HGET", lock, "mode") == "write" then
    if longest > 0 then
      raise_ttl(lock, string.format("%.0f", longest))
    end
  elseif longest > 0 then
    if set_ttl(lock, string.format("%.0f", longest), worth_telling_share(kept_count)) then
      publish(channel, "0")
    end
  else
    redis.call("DEL", lock)
    publish(channel, "0")
  end
end

local function release(key_at, arg_at)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return { "late" }
  end
  local lock, holder = KEYS[key_at], ARGV[arg_at]
  local held_count, kept_count = tonumber(ARGV[arg_at + 1]), tonumber(ARGV[arg_at + 2])
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    return { "absent" }
  end
  if kept_count > 0 and not is_between(count, kept_count, held_count) then
    return { "miscounted", count }
  end
  keep(key_at, arg_at, held_count, kept_count)
  if kept_count > 0 then
    redis.call("HSET", lock, holder, ARGV[arg_at + 2])
  else
    redis.call("HDEL", lock, holder)
  end
  settle(lock, ARGV[arg_at + 4], ARGV[arg_at + 3], kept_count)
  return { "released" }
end

local replies = { now_ms }
local key_at, arg_at = 1, 2
while key_at <= #KEYS do
  replies[#replies + 1] = release(key_at, arg_at)
  key_at = key_at + 2 + tonumber(ARGV[arg_at + 1])
  arg_at = arg_at + 5 + tonumber(ARGV[arg_at + 2])
end
return replies
