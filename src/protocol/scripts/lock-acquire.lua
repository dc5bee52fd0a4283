--[[
  lock-acquire: take locks, re-enter them, or say who has them and for how long.

  KEYS[i]      lock         hash, holder -> hold count; one for each lock, then
  KEYS[j]      token        string, the fencing counter; one for each lock that has one
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      together     1: all locks or none; 0: each by itself
  then for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition
    tokenAt    which of KEYS is its counter; 0 for none

  Returns  { serverMs, answer, … } with one answer per lock:
           { "held" }                   taken or re-entered; also when this is a repeat of a call that did so
           { "held", token }            the same with the fencing token, as text
           { "free" }                   together only: it could be had, but another lock could not
           { "busy", ttlMs, holder }    somebody else's; ttlMs is -1 without a TTL
           { "late" }                   notAfterMs has passed
           { "lost" }                   heldCount > 0 but the holder is not there
           { "wrong-type", type }       the key, or that of the counter, holds something else, be it text for a number
           { "miscounted", holdCount }  another count than heldCount or heldCount + 1
           { "refused", message }       the server refused the write
  Compat   Redisson RedissonLock.tryLockInnerAsync and RedissonFencedLock store the same. The count is written, not
           incremented, so that a repeat does no harm and takes no token; a re-entry never lowers the TTL. The counter
           is read back by GET, as a number in Lua would lose digits, and never has a TTL.
]]
--@include server-time
--@include raise-ttl
--@include any-holder
--@include refused
local not_after_ms, together = tonumber(ARGV[1]), ARGV[2] == "1"
local now_ms = server_time()

local function type_of(key)
  return redis.call("TYPE", key).ok
end

local function look(lock, holder, held_count, token)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = type_of(lock)
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local token_kind = token and type_of(token) or "none"
  if token_kind ~= "none" and token_kind ~= "string" then
    return { "wrong-type", token_kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    if held_count > 0 then
      return { "lost" }
    end
    if kind == "hash" then
      return { "busy", redis.call("PTTL", lock), any_holder(lock) }
    end
  elseif tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  return nil, count
end

local function count_up(lock, holder, new_count, token)
  if token then
    local drawn = redis.pcall("INCR", token)
    if type(drawn) == "table" then
      return drawn
    end
    redis.call("PERSIST", token)
  end
  local written = redis.pcall("HSET", lock, holder, new_count)
  return type(written) == "table" and written or nil
end

local function take(lock, holder, lease_ms, held_count, token, count)
  local new_count = string.format("%.0f", held_count + 1)
  -- A repeat has counted already; a full server would refuse it to count again.
  local failure = count ~= new_count and count_up(lock, holder, new_count, token)
  if failure then
    local counter = token and redis.call("GET", token)
    return counter and not tonumber(counter) and { "wrong-type", "string" } or refused(failure.err)
  end
  raise_ttl(lock, lease_ms)
  return token and { "held", redis.call("GET", token) or "0" } or { "held" }
end

local function answer_all(answer)
  local answers = { now_ms }
  for i = 1, (#ARGV - 2) / 4 do
    local at = 4 * i - 1
    local token = KEYS[tonumber(ARGV[at + 3])]
    answers[i + 1] = answer(KEYS[i], ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), token)
  end
  return answers
end

local blocked = false
if together then
  answer_all(function(lock, holder, _, held_count, token)
    blocked = blocked or look(lock, holder, held_count, token) ~= nil
  end)
end
return answer_all(function(lock, holder, lease_ms, held_count, token)
  local answer, count = look(lock, holder, held_count, token)
  if not answer and blocked then
    return { "free" }
  end
  return answer or take(lock, holder, lease_ms, held_count, token, count)
end)
