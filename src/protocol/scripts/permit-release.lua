--[[
  permit-release: give leased permits back, all or none.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  permitIds   32 hexadecimal digits for each permit
  then, if the client knows of other waiting clients:
  KEYS[4]  queue       sorted set, the queue of the clients that wait for permits: the first is told its turn; see permit-queue.lua
  KEYS[5]  saved       string, the owner for which permits are saved up, and their number
  ARGV[7]  countsAll   1: this server knows all listeners of a channel; 0: it does not

  Returns  { serverMs, answer, waiting }: waiting is the number of receivers at this server plus the lines found in the
           queue. The answer is
           { "released", available }  done
           { "absent", number }       this many permits are unknown, or their leases have ended; so none was given back
           { "late" }                 notAfterMs has passed
           { "wrong-type", type }     a key has another type
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
