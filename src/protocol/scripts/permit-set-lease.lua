--[[
  permit-set-lease: let the leases of permits end at another time, all of them or none. Where the next permit returns sooner than
  before, the waiters are told to ask: they sleep until the end that they have seen.

  KEYS[1]  permits     string, integer: what is available
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     where waiters listen
  ARGV[6]  permitIds   32 hexadecimal digits for each permit
  ARGV[7]  leaseMs     integer > 0, milliseconds from now

  Returns  { serverMs, answer }:
           { "updated", number }   so many leases were
           { "absent", number }    so many of them are unknown, or their lease has ended; no other was updated
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key is something else
  Compat   Redisson RedissonPermitExpirableSemaphore.updateLeaseTimeAsync stores the same, by the clock of its client, and publishes
           nothing. A JVM's waiter that is told of a permit asks, and sleeps until the end that it then sees.
]]
--@include request
--@include leased-permits
local lease_ms = tonumber(ARGV[7])
local semaphore = { permits = KEYS[1], leases = KEYS[3], channel = ARGV[5] }
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_semaphore(semaphore), function()
  even_when_full(request)
  local ids = raw_ids(ARGV[6])
  local absent = count_absent(semaphore, ids)
  reclaim(semaphore)
  if absent > 0 then
    return record(request, "absent", absent)
  end
  local seen_ms = next_end_ms(semaphore)
  local answer = record(request, "updated", #ids)
  if is_undone(request, lease(semaphore, ids, now_ms + lease_ms)) then
    redis.call("ZADD", semaphore.leases, milliseconds(now_ms + lease_ms), ids[1])
  end
  if seen_ms < 0 or seen_ms > next_end_ms(semaphore) then
    announce(semaphore.channel, 1)
  end
  return answer
end) }
