--[[
  permit-set-total: change the number of permits, including taken ones.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  total       integer >= 0

  Returns  { serverMs, answer }:
           { "set", available }    done
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.setPermitsAsync stores the same.
]]
--@include request
--@include leased-permits
local total = tonumber(ARGV[6])
local semaphore = { permits = KEYS[1], leases = KEYS[3], channel = ARGV[5] }
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_semaphore(semaphore), function()
  local available = count_of(semaphore.permits)
  -- If the semaphore does not exist, leases that an earlier semaphore has left do not count.
  local now_total = available and available + redis.call("ZCARD", semaphore.leases) or 0
  if available and now_total == total then
    return record(request, "set", available)
  end
  local left, change = (available or 0) + total - now_total, milliseconds(total - now_total)
  local answer = record(request, "set", left)
  if is_undone(request, redis.pcall("INCRBY", semaphore.permits, change)) then
    redis.call("INCRBY", semaphore.permits, change)
  end
  announce(semaphore.channel, left)
  return answer
end) }
