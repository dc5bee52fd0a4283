--[[
  count-delete: delete a semaphore or a latch, and its other keys.

  KEYS[1]  count       string, integer
  KEYS[2]  requests    hash, request id -> answer
  KEYS[i]  further     for each i from 3: another key to delete, of any type
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  message     published if the count existed; "" for nothing

  Returns  { serverMs, answer }:
           { "deleted", value }    done; value: the deleted count
           { "absent", 0 }         the count did not exist
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.deleteAsync, RedissonCountDownLatch.deleteAsync delete the same keys. For
           a latch, this script publishes 0, which opens it; Redisson publishes 1.
]]
--@include publish
--@include request
local count, channel, message = KEYS[1], ARGV[5], ARGV[6]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_count(count), function()
  local value = count_of(count)
  local answer = record(request, value and "deleted" or "absent", value or 0)
  if is_undone(request, redis.pcall("DEL", count)) then
    redis.call("DEL", count)
  end
  for i = 3, #KEYS do
    redis.call("DEL", KEYS[i])
  end
  if value and message ~= "" then
    publish(channel, message)
  end
  return answer
end) }
