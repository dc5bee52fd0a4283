--[[
  semaphore-drain: take all available permits.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted

  Returns  { serverMs, answer }:
           { "drained", permits }  done; 0 if none were available
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonSemaphore.drainPermitsAsync stores the same, but removes the TTL, which this script keeps, and sets a
           negative number of permits to 0.
]]
--@include request
local permits = KEYS[1]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_count(permits), function()
  local available = math.max(count_of(permits) or 0, 0)
  if available > 0 then
    redis.call("DECRBY", permits, milliseconds(available))
  end
  local answer = try_record(request, "drained", available)
  if not answer and available > 0 then
    redis.call("DECRBY", permits, milliseconds(-available))
  end
  return answer or record(request, "drained", available)
end) }
