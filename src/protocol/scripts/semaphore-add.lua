--[[
  semaphore-add: give permits back, or change their number.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  added       integer, permits; may be negative
  ARGV[7]  mustExist   1: never creates a semaphore; 0: may create it
  ARGV[8]  most        integer, the most permits allowed
  then, if the client knows of other waiting clients:
  KEYS[3]  queue       sorted set, the queue of the clients that wait for permits: the first is told its turn; see permit-queue.lua
  KEYS[4]  saved       string, the owner for which permits are saved up, and their number
  ARGV[9]  countsAll   1: this server knows all listeners of a channel; 0: it does not

  Returns  { serverMs, answer, waiting }: waiting is the number of receivers at this server plus the lines found in the
           queue. The answer is
           { "added", available }     done
           { "absent", 0 }            there is no semaphore
           { "too-many", available }  the sum would be more than most; nothing was done
           { "late" }                 notAfterMs has passed
           { "wrong-type", type }     a key has another type
  Compat   Redisson RedissonSemaphore.releaseAsync, releaseIfExistsAsync, addPermitsAsync store the same, but
           addPermitsAsync removes the TTL, which this script keeps.
]]
--@include request
--@include announce
local permits, channel, added, most = KEYS[1], ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[8])
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

if KEYS[3] then
  --@include saved-permits
  --@include permit-queue
  look_into(KEYS[3], KEYS[4], channel, ARGV[9])
end

local waiting = nil
return {
  now_ms,
  once(request, foreign_count(permits), function()
    local available = count_of(permits)
    if not available and ARGV[7] == "1" then
      return record(request, "absent", 0)
    end
    available = available or 0
    if added > 0 and available + added > most then
      return record(request, "too-many", available)
    end
    local answer = record(request, "added", available + added)
    if is_undone(request, redis.pcall("INCRBY", permits, ARGV[6])) then
      redis.call("INCRBY", permits, ARGV[6])
    end
    waiting = announce(channel, available + added)
    return answer
  end),
  waiting,
}
