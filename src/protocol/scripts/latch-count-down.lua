--[[
  latch-count-down: count a latch down by one, and open it at zero.

  KEYS[1]  latch       string, integer > 0; missing when it is open
  KEYS[2]  requests    hash, request id -> answer
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters

  Returns  { serverMs, answer }:
           { "counted", count }    done; count: the remaining count, 0 also if the latch was already open
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonCountDownLatch.countDownAsync stores and publishes the same.
]]
--@include publish
--@include request
local latch, channel = KEYS[1], ARGV[5]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_count(latch), function()
  local count = count_of(latch)
  if count and count > 1 then
    local answer = record(request, "counted", count - 1)
    if is_undone(request, redis.pcall("INCRBY", latch, "-1")) then
      redis.call("INCRBY", latch, "-1")
    end
    return answer
  end
  local answer = record(request, "counted", 0)
  if is_undone(request, redis.pcall("DEL", latch)) then
    redis.call("DEL", latch)
  end
  if count == 1 then
    publish(channel, "0")
  end
  return answer
end) }
