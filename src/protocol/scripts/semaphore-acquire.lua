--[[
  semaphore-acquire: take permits of a semaphore, or answer how many are available. A line is a client's calls for one number of permits.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  saved       string, the owner for which permits are saved up, and their number
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  owner       "<client id>:<number>" of the call that asks
  ARGV[7]  wanted      integer > 0, permits
  ARGV[8]  saveMs      integer, how long to save permits up for the owner; 0: not at all
  then, if the client knows of other waiting clients:
  KEYS[4]  queue       sorted set, the queue of the clients that wait for permits; see permit-queue.lua
  ARGV[9]  line        "<client id>:<permits>", the line of the asking call
  ARGV[10] way         "asks", "stands" or "stays"; see permit-question.lua
  ARGV[11] countsAll   1: this server knows all listeners of a channel; 0: it does not

  Returns  { serverMs, answer, stands }: with a queue, stands is 0 if no line waits in it; 1 if only other lines wait; 2 if this
           line waits; 3 if it is the first line that was not told its turn; 4 if it is also new and no line waits before it.
           The answer is
           { "granted", left }           done; left: permits still available
           { "short", available, ms, saving, exists }
                                         too few for the owner. ms: the time until there may be enough, -1: unknown;
                                         saving: 1 if permits are saved up for the owner, else 0; exists: 0 if the number of
                                         permits is not set
           { "cancelled", 0 }            the request was cancelled
           { "late" }                    notAfterMs has passed
           { "wrong-type", type }        a key has another type
  Compat   Redisson RedissonSemaphore.tryAcquireAsync stores the same. Redisson does not save permits up.
]]
--@include request
--@include announce
--@include saved-permits
local permits, saved, channel, owner, wanted, save_ms = KEYS[1], KEYS[3], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }

local waiting = KEYS[4]
  and { queue = KEYS[4], saved = saved, channel = channel, line = ARGV[9], way = ARGV[10], counts_all = ARGV[11] == "1" }
if waiting then
  --@include permit-question
end

local stands = nil
return {
  now_ms,
  once(request, foreign_count(permits) or foreign_type(saved, "string"), function()
    local available = count_of(permits)
    local others = saved_for_others(saved, owner)
    local ahead = waiting and waiting.look_ahead() or 0
    if available and available - others - ahead >= tonumber(wanted) then
      save_no_more(saved, owner)
      local left = redis.call("DECRBY", permits, wanted)
      local answer = try_record(request, "granted", left)
      if not answer then
        redis.call("DECRBY", permits, milliseconds(-wanted))
      end
      answer = answer or record(request, "granted", left)
      stands = waiting and waiting.entered(left)
      return answer
    end
    local exists = available and 1 or 0
    available = available or 0
    if save_ms == "0" and save_no_more(saved, owner) then
      announce(channel, available)
    end
    local saving, more_ms = save_up(saved, owner, wanted, save_ms), others > 0 and redis.call("PTTL", saved) or -1
    if waiting then
      stands, more_ms = waiting.refused(available, more_ms)
    end
    return { "short", milliseconds(available), more_ms, saving, exists }
  end),
  stands,
}
