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
  then, for a client that knows of others that wait:
  KEYS[4]  queue       sorted set, where clients wait for permits: the first is told its turn; see permit-queue.lua
  KEYS[5]  saved       string, the owner that permits are saved up for, and how many
  ARGV[7]  countsAll   1: all who listen to a channel are known to this server; 0: they are not

  Returns  { serverMs, answer, waiting }: waiting is how many have heard of it at this server, and how many lines were found in the
           queue. The answer is
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

if KEYS[4] then
  --@include saved-permits
  --@include permit-queue
  look_into(KEYS[4], KEYS[5], ARGV[5], ARGV[7])
end

local waiting = nil
return {
  now_ms,
  once(request, foreign_semaphore(semaphore), function()
    even_when_full(request)
    local ids = raw_ids(ARGV[6])
    local absent = count_absent(semaphore, ids)
    reclaim(semaphore)
    if absent > 0 then
      return record(request, "absent", absent)
    end
    local answer
    answer, waiting = give_back(semaphore, ids, request, "released")
    return answer
  end),
  waiting,
}
