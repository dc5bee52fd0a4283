--[[
  lock-release: lower hold counts; free a lock when its count becomes 0. Notifies the waiters of a lock that is freed, or that stays
  held but now expires sooner than before. Each lock has its own answer.

  KEYS[i]      lock         hash, holder -> hold count
  KEYS[n + i]  queue        sorted set, client id -> place, the queue of the clients that wait for lock i of n; either all locks have
                            one, or none
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no deadline, and
                            the answer has no time
  then for each lock:
    holder     "<client id>:<thread id>"; "" with "calls"
    channel    channel of the waiters; a client's own channel appends the client id
  then, with queues, for each lock:
    way        "leaves" if no call of the holder's client waits for the lock, "stays" otherwise; "calls" if nothing is freed
               and the first waiting client should ask; " all" is appended if this server knows all listeners of a
               channel
  then, if holds are kept, for one lock only; without these arguments, the locks are freed whatever their counts:
  ARGV[4]      heldCount    integer > 0, the highest hold count that the holder may have before this release
  ARGV[5]      keptCount    integer > 0, the hold count to leave
  ARGV[6]      ttlMs        integer > 0, the lock's new TTL in milliseconds

  Returns  heard                        without a deadline: all locks are freed; this many receivers got each message
           { serverMs, answer, … } with one answer per lock, in all other cases:
           heard                        freed; the number of receivers that this server knows
           { "given", heard }           freed, and granted to another waiting client
           "released"                   the count is lowered, by this call or by an earlier copy of it
           { "released", 1 }            the count is lowered, and the lock expires sooner than before
           "absent"                     the lock has no field for the holder
           { "absent", 1 }              as "absent", but the client has the lock through another holder, so it stays in the queue
           "late"                       notAfterMs has passed
           { "wrong-type", type }       the key is not a hash
           { "miscounted", holdCount }  holds are to be kept, but the count is not between keptCount and heldCount
  Compat   Redisson RedissonLock.unlockInnerAsync stores and publishes the same, except that it publishes nothing for a lock that
           stays held and expires sooner. This script does not write the key of Redisson's unlock latch.
           The first write is an HDEL or a PEXPIRE, which a full server still accepts. A user without the right to publish
           still frees the lock; waiters then rely on its TTL.
]]
--@include publish
local not_after_ms, now_ms = tonumber(ARGV[1]), 0
local keeps_holds, looks = #ARGV > 2 * #KEYS + 1, #ARGV <= 2 * #KEYS
local lock_count = looks and #KEYS / 2 or #KEYS
-- Reading the time would take a fifth of a call that only frees one lock.
if not_after_ms > 0 then
  --@include server-time
  now_ms = server_time()
end

local is_to_free = not keeps_holds and now_ms <= not_after_ms
local replies = not_after_ms > 0 and { now_ms } or nil
local heard = nil
for i = 1, lock_count do
  local lock, holder, reply = KEYS[i], ARGV[2 * i], nil
  local freed = is_to_free and redis.pcall("HDEL", lock, holder)
  if freed == 1 then
    reply = publish(ARGV[2 * i + 1], "0")
    heard = heard or reply
  else
    --@include hold-count
    --@include set-ttl
    local held_count, kept_count, ttl_ms = ARGV[4], ARGV[5], ARGV[6]

    -- Answers for a lock that this call has not freed. The function is created only here, because most calls do not need it.
    local function answer()
      if now_ms > not_after_ms then
        return "late"
      elseif freed == 0 then
        return "absent"
      end
      local kind = redis.call("TYPE", lock).ok
      if kind ~= "none" and kind ~= "hash" then
        return { "wrong-type", kind }
      elseif not keeps_holds then
        -- The server has refused to free the lock. Repeats the command, so that the call fails with that refusal.
        redis.call("HDEL", lock, holder)
        return { "wrong-type", kind }
      end
      local count = redis.call("HGET", lock, holder)
      if not count then
        return "absent"
      end
      if not is_between(count, kept_count, held_count) then
        return { "miscounted", count }
      end
      local ends_sooner = set_ttl(lock, ttl_ms)
      redis.call("HSET", lock, holder, kept_count)
      if ends_sooner then
        publish(ARGV[2 * i + 1], "0")
        return { "released", 1 }
      end
      return "released"
    end

    reply = answer()
  end
  if looks and is_to_free and redis.call("EXISTS", KEYS[lock_count + i]) == 1 then
    local of_writers = false
    local queue, channel, way = KEYS[lock_count + i], ARGV[2 * i + 1], ARGV[2 * lock_count + 1 + i]
    --@include look-into-queue
    local outcome = look_into_queue(freed == 1, freed == 1, function()
      return freed == 0 and client_of(any_holder(lock)) == client
    end)
    if outcome == "given" then
      reply = { outcome, reply }
    elseif outcome == "stands" then
      reply = { reply, 1 }
    end
  end
  if not replies and reply ~= heard then
    replies = { now_ms }
    for before = 1, i - 1 do
      replies[before + 1] = heard
    end
  end
  if replies then
    replies[i + 1] = reply
  end
end
return replies or heard
