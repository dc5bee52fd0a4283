--[[
  count-try-set: set the permits of a semaphore, or the count of a latch, unless it has been set.

  KEYS[1]  count       string, integer
  KEYS[2]  requests    hash, request id -> answer
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  value       integer >= 0
  ARGV[6]  ttlMs       integer, milliseconds until the key expires; 0: never
  ARGV[7]  channel     channel of the waiters
  ARGV[8]  message     published to the waiters; "" for nothing

  Returns  { serverMs, answer }:
           { "set", value }        done
           { "kept", value }       not changed, because the count was already set to this value
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonSemaphore.trySetPermitsAsync, RedissonCountDownLatch.trySetCountAsync store and publish the same.
]]
--@include publish
--@include request
local count, value, ttl_ms, channel, message = KEYS[1], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_count(count), function()
  local kept = count_of(count)
  if kept then
    return record(request, "kept", kept)
  end
  -- XX never sets a missing key, so this only tests whether the server accepts a SET: a full server refuses it.
  redis.call("SET", count, value, "XX")
  local answer = record(request, "set", tonumber(value))
  if ttl_ms == "0" then
    redis.call("SET", count, value)
  else
    redis.call("SET", count, value, "PX", ttl_ms)
  end
  if message ~= "" then
    publish(channel, message)
  end
  return answer
end) }
