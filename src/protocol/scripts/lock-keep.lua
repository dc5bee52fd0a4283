--[[
  lock-keep: end the holds of locks, but keep their keys for a while: a field that belongs to no thread replaces the holder's.
  Each lock has its own answer.

  KEYS[i]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing. 0: no deadline
  then for each lock:
    holder     "<client id>:<thread id>"
    kept       "<client id>:0", the field that stays, with a hold count of 1
    keepMs     integer > 0, how many milliseconds the key stays
    channel    channel of the waiters

  Returns  { serverMs, answer, … } with one answer per lock, as lock-release:
           "released"              kept; also if the kept field already exists, as after a repeat: then nothing is changed
           { "released", 1 }       kept, and the lock expires sooner than before
           "absent"                neither field exists
           "late"                  notAfterMs has passed
           { "wrong-type", type }  the key is not a hash
  Compat   Redisson has no such script; to a JVM, thread 0 of the client seems to have the lock. If the lock expires sooner than
           before, waiters get the message that it is free: they ask, and sleep for the TTL in the answer. The first write is a
           PEXPIRE, which a full server still accepts.
]]
--@include publish
--@include set-ttl
--@include now-ms
local not_after_ms = tonumber(ARGV[1])

local function keep(lock, holder, kept, keep_ms, channel)
  if not_after_ms > 0 and now_ms > not_after_ms then
    return "late"
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  if redis.call("HEXISTS", lock, holder) == 1 then
    local ends_sooner = set_ttl(lock, keep_ms)
    redis.call("HSET", lock, kept, "1")
    redis.call("HDEL", lock, holder)
    if ends_sooner then
      publish(channel, "0")
      return { "released", 1 }
    end
    return "released"
  end
  return redis.call("HEXISTS", lock, kept) == 1 and "released" or "absent"
end

local replies = { now_ms }
for i = 1, #KEYS do
  local at = 4 * i - 2
  replies[i + 1] = keep(KEYS[i], ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3])
end
return replies
