--[[
  lock-release: lower hold counts; free the locks whose count becomes 0 and tell their waiters.
  Each lock is answered by itself.

  KEYS[i]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no limit, and
                            the time is not told
  ARGV[2]      heldCount    integer > 0, the holders' hold count before this release, at most
  ARGV[3]      keptCount    integer >= 0, the hold count to leave; 0 frees the locks whatever the count was
  ARGV[4]      ttlMs        integer > 0, milliseconds the locks are to live on when holds are kept
  then for each lock:
    holder     "<client id>:<thread id>"
    channel    where waiters listen

  Returns  { serverMs, answer, … } with one answer per lock:
           heard                        freed; how many heard of it, as far as this server knows
           "released"                   lowered; also when this is a repeat of a call that did so
           "absent"                     the holder is not there
           "late"                       notAfterMs has passed
           { "wrong-type", type }       the key is no hash
           { "miscounted", holdCount }  holds are to be kept, but the count is not between keptCount and heldCount
  Compat   Redisson RedissonLock.unlockInnerAsync stores and publishes the same. No unlock latch is written.
           The first write is a HDEL or a PEXPIRE, which a full server still accepts. A user who may not publish still
           frees the lock; waiters then live by its TTL.
]]
--@include publish
local not_after_ms, kept_count = tonumber(ARGV[1]), ARGV[3]
local now_ms = 0
-- To ask for the time would be a fifth of a call that only frees one lock.
if not_after_ms > 0 then
  --@include server-time
  now_ms = server_time()
end

-- Answers for a lock that was not just freed. Most calls need none of this, and so do not make it.
local function careful()
  --@include hold-count
  local held_count, ttl_ms = ARGV[2], ARGV[4]

  local function lower(lock, holder)
    local kind = redis.call("TYPE", lock).ok
    if kind ~= "none" and kind ~= "hash" then
      return { "wrong-type", kind }
    end
    local count = redis.call("HGET", lock, holder)
    if not count then
      return "absent"
    end
    if not is_between(count, kept_count, held_count) then
      return { "miscounted", count }
    end
    redis.call("PEXPIRE", lock, ttl_ms)
    redis.call("HSET", lock, holder, kept_count)
    return "released"
  end

  return function(lock, holder, freed)
    if now_ms > not_after_ms then
      return "late"
    elseif kept_count ~= "0" then
      return lower(lock, holder)
    elseif freed == 0 then
      return "absent"
    end
    local kind = redis.call("TYPE", lock).ok
    if kind == "none" or kind == "hash" then
      -- What else it is that the server refuses fails the call.
      redis.call("HDEL", lock, holder)
    end
    return { "wrong-type", kind }
  end
end

local is_to_free = kept_count == "0" and now_ms <= not_after_ms
local replies, answer_for = { now_ms }, nil
for i, lock in ipairs(KEYS) do
  local holder = ARGV[2 * i + 3]
  local freed = is_to_free and redis.pcall("HDEL", lock, holder)
  if freed == 1 then
    replies[i + 1] = publish(ARGV[2 * i + 4], "0")
  else
    answer_for = answer_for or careful()
    replies[i + 1] = answer_for(lock, holder, freed)
  end
end
return replies
