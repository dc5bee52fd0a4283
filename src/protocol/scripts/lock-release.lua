--[[
  lock-release: lower hold counts; when a count becomes 0 free the lock. Its waiters are told of that, and of a lock that falls sooner
  than before.
  Each lock is answered by itself.

  KEYS[i]      lock         hash, holder -> hold count
  KEYS[n + i]  queue        sorted set, client id -> place, where the clients that wait for one of the n locks stand; all locks have
                            theirs, or none
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no limit, and
                            the time is not told
  then for each lock:
    holder     "<client id>:<thread id>"; "" with "calls"
    channel    where waiters listen, without the client id that the channel of one client has behind it
  then, with queues, for each lock:
    way        "leaves" when no call of the holder's client waits for the lock any more, "stays" otherwise; "calls" when nothing is
               freed, and the first that waits is to ask; with " all" behind it where all who listen to a channel are known to
               this server
  then, where holds are kept, which goes for one lock only; without these it is freed whatever the count was:
  ARGV[4]      heldCount    integer > 0, the holder's hold count before this release, at most
  ARGV[5]      keptCount    integer > 0, the hold count to leave
  ARGV[6]      ttlMs        integer > 0, milliseconds the lock is to live on

  Returns  heard                        without a limit: all are freed, and so many heard of each
           { serverMs, answer, … } with one answer per lock, in all other cases:
           heard                        freed; how many heard of it, as far as this server knows
           { "given", heard }           freed, and given to another client that waits
           "released"                   lowered; also when this is a repeat of a call that did so
           { "released", 1 }            lowered, and the lock falls sooner than before
           "absent"                     the holder is not there
           { "absent", 1 }              the same, but its client has the lock by another holder: it stands on in the queue for that
           "late"                       notAfterMs has passed
           { "wrong-type", type }       the key is no hash
           { "miscounted", holdCount }  holds are to be kept, but the count is not between keptCount and heldCount
  Compat   Redisson RedissonLock.unlockInnerAsync stores and publishes the same, but for a lock that is held on and falls sooner
           than before: of that Redisson tells nothing. No unlock latch is written.
           The first write is a HDEL or a PEXPIRE, which a full server still accepts. A user without the right to publish
           still frees the lock; waiters then live by its TTL.
]]
--@include publish
local not_after_ms, now_ms = tonumber(ARGV[1]), 0
local keeps_holds, looks = #ARGV > 2 * #KEYS + 1, #ARGV <= 2 * #KEYS
local lock_count = looks and #KEYS / 2 or #KEYS
-- To ask for the time would be a fifth of a call that only frees one lock.
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

    -- For a lock that was not just freed. Most calls do without it, and so it is made only here.
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
        -- Fails the call with the server's refusal, unless the type was the cause.
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
