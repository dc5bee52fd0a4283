--[[
  semaphore-cancel: take back a request for permits, because its outcome is unknown or its caller has given up. If the request arrives
  only after this call, it is answered "cancelled".

  KEYS[1]  permits    string, integer: the available permits
  KEYS[2]  requests   hash, request id -> answer
  KEYS[3]  saved      string, the owner for which permits are saved up, and their number
  ARGV[1]  id         of the request
  ARGV[2]  memoryMs   integer > 0, how long the cancellation is remembered
  ARGV[3]  settled    ids of requests that have ended: their answers are deleted
  ARGV[4]  channel    channel of the waiters
  ARGV[5]  owner      of the request: no more permits are saved up for it
  ARGV[6]  wanted     integer > 0, permits: given back if they were granted

  Returns  { serverMs, answer }:
           { "cancelled", 0 }
           { "wrong-type", type }  a key has another type
  Compat   Redisson releases permits without knowing whether they were granted (RedissonSemaphore.tryAcquireAsync).
]]
--@include request
--@include announce
--@include saved-permits
local permits, saved, channel, owner, wanted = KEYS[1], KEYS[3], ARGV[4], ARGV[5], ARGV[6]
local request = { requests = KEYS[2], id = ARGV[1], memory_ms = ARGV[2], settled = ARGV[3] }

local function cancel()
  local foreign = foreign_count(permits) or foreign_type(saved, "string") or foreign_type(request.requests, "hash")
  if foreign then
    return { "wrong-type", foreign }
  end
  local answer = answer_of(request)
  local granted = answer and answer[1] == "granted"
  local freed = save_no_more(saved, owner)
  local cancelled = record(request, "cancelled", 0)
  -- Does not create a semaphore that was deleted meanwhile.
  local available = count_of(permits)
  if available and granted then
    if is_undone(request, redis.pcall("INCRBY", permits, wanted)) then
      redis.call("INCRBY", permits, wanted)
    end
    available = available + wanted
  end
  if available and (granted or freed) then
    announce(channel, available)
  end
  forget_settled(request)
  return cancelled
end

return { now_ms, cancel() }
