--[[
  semaphore-acquire: take permits of a semaphore, or say how many there are.

  KEYS[1]  permits     string, integer: what is available
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  saved       string, the owner that permits are saved up for, and how many
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     where waiters listen
  ARGV[6]  owner       "<client id>:<number>" of the call that asks
  ARGV[7]  wanted      integer > 0, permits
  ARGV[8]  saveMs      integer, how long permits are to be saved up for the owner; 0: not at all

  Returns  { serverMs, answer }:
           { "granted", left }           done, and so many are available still
           { "short", available, ms, saving, exists }
                                         not enough for the owner, but after so many milliseconds there may be; -1: unknown;
                                         saving: 1, they are saved up for it; 0, they are not; exists: 0, the number of
                                         permits is not set
           { "cancelled", 0 }            the request was cancelled
           { "late" }                    notAfterMs has passed
           { "wrong-type", type }        a key is something else
  Compat   Redisson RedissonSemaphore.tryAcquireAsync stores the same. Saved permits are holdfast's own.
]]
--@include request
--@include announce
--@include saved-permits
local permits, saved, channel, owner, wanted, save_ms = KEYS[1], KEYS[3], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

return { now_ms, once(request, foreign_count(permits) or foreign_type(saved, "string"), function()
  local available = count_of(permits)
  local others = saved_for_others(saved, owner)
  if available and available - others >= tonumber(wanted) then
    save_no_more(saved, owner)
    local left = redis.call("DECRBY", permits, wanted)
    local answer = try_record(request, "granted", left)
    if not answer then
      redis.call("DECRBY", permits, milliseconds(-wanted))
    end
    return answer or record(request, "granted", left)
  end
  local exists = available and 1 or 0
  available = available or 0
  if save_ms == "0" and save_no_more(saved, owner) then
    announce(channel, available)
  end
  local saving = save_up(saved, owner, wanted, save_ms)
  return { "short", milliseconds(available), others > 0 and redis.call("PTTL", saved) or -1, saving, exists }
end) }
