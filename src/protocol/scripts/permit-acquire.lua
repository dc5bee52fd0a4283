--[[
  permit-acquire: take permits of a permit-expirable semaphore, each with a lease, or answer when enough may be available.

  KEYS[1]  permits     string, integer: the available permits
  KEYS[2]  requests    hash, request id -> answer
  KEYS[3]  saved       string, the owner for which permits are saved up, and their number
  KEYS[4]  leases      sorted set, id of a permit -> end of its lease
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  id          of the request
  ARGV[3]  memoryMs    integer > 0, how long the answer is kept
  ARGV[4]  settled     ids of requests that have ended: their answers are deleted
  ARGV[5]  channel     channel of the waiters
  ARGV[6]  owner       "<client id>:<number>" of the call that asks
  ARGV[7]  permitIds   32 hexadecimal digits for each wanted permit
  ARGV[8]  saveMs      integer, how long to save permits up for the owner; 0: not at all
  ARGV[9]  leaseMs     integer, milliseconds; 0: the permits are permanent
  then, if the client knows of other waiting clients:
  KEYS[5]  queue       sorted set, the queue of the clients that wait for permits; see permit-queue.lua
  ARGV[10] line        "<client id>:<permits>", the line of the asking call
  ARGV[11] way         "asks", "stands" or "stays"; see permit-question.lua
  ARGV[12] countsAll   1: this server knows all listeners of a channel; 0: it does not

  Returns  { serverMs, answer, stands }: with a queue, stands is 0 if no line waits in it; 1 if only other lines wait; 2 if this
           line waits; 3 if it is the first line that was not told its turn; 4 if it is also new and no line waits before it.
           The answer is
           { "granted", left, ttlMs, moreMs, leaseMs }
                                         done. left: the permits still available; ttlMs: the TTL of the semaphore, -1 without
                                         one; moreMs: the time until the next lease ends, -1: never; leaseMs: for a repeat,
                                         the time left of these leases, -1: the whole lease
           { "gone", 0 }                 a repeat: the permits were granted, but a lease has ended
           { "short", available, ms, saving, exists }
                                         too few for the owner. ms: the time until there may be enough, -1: unknown;
                                         saving: 1 if permits are saved up for the owner, else 0; exists: 0 if the number of
                                         permits is not set
           { "cancelled", 0 }            the request was cancelled
           { "late" }                    notAfterMs has passed
           { "wrong-type", type }        a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.tryAcquireAsync stores the same, but by its client's clock.
           Redisson does not save permits up.
]]
--@include request
--@include leased-permits
--@include saved-permits
local saved, owner, save_ms, lease_ms = KEYS[3], ARGV[6], ARGV[8], tonumber(ARGV[9])
local semaphore = { permits = KEYS[1], leases = KEYS[4], channel = ARGV[5] }
local request = { requests = KEYS[2], not_after_ms = ARGV[1], id = ARGV[2], memory_ms = ARGV[3], settled = ARGV[4] }
local ids = raw_ids(ARGV[7])
local waiting = KEYS[5]
  and { queue = KEYS[5], saved = saved, channel = ARGV[5], line = ARGV[10], way = ARGV[11], counts_all = ARGV[12] == "1" }
if waiting then
  --@include permit-question
end

-- The earlier of two ends; each may be -1 for none.
local function earlier(one_ms, other_ms)
  if one_ms < 0 or other_ms < 0 then
    return math.max(one_ms, other_ms)
  end
  return math.min(one_ms, other_ms)
end

-- Reads everything before it writes, so that a refused read changes nothing.
local function grant()
  local ttl_ms = redis.call("PTTL", semaphore.permits)
  local more_ms = earlier(next_end_ms(semaphore), lease_ms == 0 and -1 or lease_ms)
  local left = redis.call("DECRBY", semaphore.permits, milliseconds(#ids))
  local ends_ms = lease_ms == 0 and PERMANENT or now_ms + lease_ms
  local recorded = try_record(request, "granted", left)
  if not recorded or is_undone(request, lease(semaphore, ids, ends_ms)) then
    redis.call("DECRBY", semaphore.permits, milliseconds(-#ids))
    -- Sends the refused command again, so that the call fails with its error.
    if recorded then
      redis.call("ZADD", semaphore.leases, milliseconds(ends_ms), ids[1])
    end
    return record(request, "granted", left)
  end
  if ttl_ms > 0 then
    redis.call("PEXPIRE", semaphore.leases, milliseconds(ttl_ms))
  end
  return { "granted", milliseconds(left), ttl_ms, more_ms, -1 }
end

local function granted_before()
  local soonest_ms = PERMANENT
  for _, id in ipairs(ids) do
    soonest_ms = math.min(soonest_ms, lease_end(semaphore, id) or 0)
  end
  if soonest_ms <= now_ms then
    return { "gone", "0" }
  end
  local left, lease_left_ms = count_of(semaphore.permits) or 0, soonest_ms < PERMANENT and soonest_ms - now_ms or -1
  return { "granted", milliseconds(left), redis.call("PTTL", semaphore.permits), next_end_ms(semaphore), lease_left_ms }
end

local function waits_ms(others)
  return earlier(next_end_ms(semaphore), others > 0 and redis.call("PTTL", saved) or -1)
end

local fresh, stands = false, nil
local answer = once(request, foreign_semaphore(semaphore) or foreign_type(saved, "string"), function()
  fresh = true
  reclaim(semaphore)
  local available = count_of(semaphore.permits)
  local others = saved_for_others(saved, owner)
  local ahead = waiting and waiting.look_ahead() or 0
  if available and available - others - ahead >= #ids then
    save_no_more(saved, owner)
    local answer = grant()
    stands = waiting and waiting.entered(available - #ids)
    return answer
  end
  local exists = available and 1 or 0
  available = available or 0
  if save_ms == "0" and save_no_more(saved, owner) then
    announce(semaphore.channel, available)
  end
  local is_possible = available + redis.call("ZCARD", semaphore.leases) >= #ids
  local saving = save_up(saved, owner, milliseconds(#ids), is_possible and save_ms or "0")
  local more_ms = waits_ms(others)
  if waiting then
    stands, more_ms = waiting.refused(available, more_ms)
  end
  return { "short", milliseconds(available), more_ms, saving, exists }
end)
if not fresh and answer[1] == "granted" then
  answer = granted_before()
end
return { now_ms, answer, stands }
