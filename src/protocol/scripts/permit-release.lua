--[[
  permit-release: give leased permits back, all of them or none.

  KEYS[1]  permits     string, integer: what is available
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     where waiters listen
  ARGV[6]  permitIds   32 hexadecimal digits for each permit

  Returns  { serverMs, answer }:
           { "released", available }  done
           { "absent", number }       so many of them are unknown, or their lease has ended; no other was given back
           { "late" }                 notAfterMs has passed
           { "wrong-type", type }     a key is something else
  Compat   Redisson RedissonPermitExpirableSemaphore.tryReleaseAsync stores the same.
]]
--@include request
--@include leased-permits
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
  return give_back(semaphore, ids, request, "released")
end) }
