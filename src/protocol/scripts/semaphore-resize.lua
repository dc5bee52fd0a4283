--[[
  semaphore-resize: change the number of permits of a semaphore of either kind, if it is still the number that the caller has seen.
  The number counts available and leased permits; a plain semaphore stores only the available ones.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease (permit-expirable semaphore)
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  seen        integer, the seen number of permits
  ARGV[7]  total       integer >= 0, the new number

  Returns  { serverMs, answer }:
           { "set", available }    done
           { "absent", 0 }         there is no semaphore
           { "changed", total }    the number is not the seen one; nothing was done
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.setPermitsAsync stores the same, whatever the number was.
]]
--@include request
--@include leased-permits
local seen, total = tonumber(ARGV[6]), tonumber(ARGV[7])
local semaphore = { permits = KEYS[1], leases = KEYS[3], channel = ARGV[5] }
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_semaphore(semaphore), function()
  even_when_full(request)
  local available = count_of(semaphore.permits)
  if not available then
    return record(request, "absent", 0)
  end
  local now_total = available + redis.call("ZCARD", semaphore.leases)
  if now_total ~= seen then
    return record(request, "changed", now_total)
  end
  local left, change = available + total - now_total, milliseconds(total - now_total)
  local answer = record(request, "set", left)
  if is_undone(request, redis.pcall("INCRBY", semaphore.permits, change)) then
    redis.call("INCRBY", semaphore.permits, change)
  end
  announce(semaphore.channel, left)
  return answer
end) }
