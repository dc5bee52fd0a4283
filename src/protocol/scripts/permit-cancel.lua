--[[
  permit-cancel: take back a request for leased permits, because its outcome is unknown or its caller has given up. If the request
  arrives only after this call, it is answered "cancelled".

  KEYS[1]  permits    string, integer: the available permits
  KEYS[2]  requests   hash, request id -> answer
  KEYS[3]  saved      string, the owner for which permits are saved up, and their number
  KEYS[4]  leases     sorted set, id of a permit -> end of its lease
  ARGV[1]  id         of the request
  ARGV[2]  memoryMs   integer > 0, how long the cancellation is remembered
  ARGV[3]  settled    ids of requests that have ended: their answers are deleted
  ARGV[4]  channel    channel of the waiters
  ARGV[5]  owner      of the request: no more permits are saved up for it
  ARGV[6]  permitIds  32 hexadecimal digits for each permit; permits that were granted are given back

  Returns  { serverMs, answer }:
           { "cancelled", 0 }
           { "wrong-type", type }  a key has another type
  Compat   Redisson releases the permits (RedissonPermitExpirableSemaphore.tryAcquireAsync), which does not stop a request
           that arrives later.
]]
--@include request
--@include leased-permits
--@include saved-permits
local saved, owner = KEYS[3], ARGV[5]
local semaphore = { permits = KEYS[1], leases = KEYS[4], channel = ARGV[4] }
local request = { requests = KEYS[2], id = ARGV[1], memory_ms = ARGV[2], settled = ARGV[3] }

local function cancel()
  local foreign = foreign_semaphore(semaphore)
    or foreign_type(saved, "string")
    or foreign_type(request.requests, "hash")
  if foreign then
    return { "wrong-type", foreign }
  end
  local freed = save_no_more(saved, owner)
  local ids = {}
  for _, id in ipairs(raw_ids(ARGV[6])) do
    if lease_end(semaphore, id) then
      ids[#ids + 1] = id
    end
  end
  local cancelled
  answer_of(request)
  if #ids > 0 then
    cancelled = give_back(semaphore, ids, request, "cancelled", 0)
  else
    cancelled = record(request, "cancelled", 0)
    if freed then
      announce(semaphore.channel, count_of(semaphore.permits) or 0)
    end
  end
  forget_settled(request)
  return cancelled
end

return { now_ms, cancel() }
