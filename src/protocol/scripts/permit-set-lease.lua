--[[
  permit-set-lease: change the lease ends of permits, all or none. If the next lease now ends sooner than before, the waiters
  are told to ask: otherwise they would sleep until the end that they saw earlier.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  permitIds   32 hexadecimal digits for each permit
  ARGV[7]  leaseMs     integer > 0, milliseconds from now

  Returns  { serverMs, answer }:
           { "updated", number }   the number of updated leases
           { "absent", number }    this many permits are unknown, or their leases have ended; so none was updated
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.updateLeaseTimeAsync stores the same, by its client's clock, and publishes
           nothing. A JVM's waiter that gets the message asks, and sleeps until the end that the answer gives.
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
