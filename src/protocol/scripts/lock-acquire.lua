--[[
  lock-acquire: take locks, re-enter them, or say who has them and for how long. Each lock is answered by itself.

  KEYS[i]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  then for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition

  Returns  { serverMs, answer, … } with one answer per lock:
           { "held" }                   taken or re-entered; also when this is a repeat of a call that did so
           { "busy", ttlMs, holder }    somebody else's; ttlMs is -1 without a TTL
           { "late" }                   notAfterMs has passed
           { "lost", 0 or 1 }           heldCount > 0 but the holder is not there; 1 if somebody else is
           { "wrong-type", type }       the key is no hash
           { "miscounted", holdCount }  another count than heldCount or heldCount + 1
           { "refused", message }       the server refused the write
  Compat   Redisson RedissonLock.tryLockInnerAsync stores the same. The count is written, not incremented,
           so that a repeat does no harm; a re-entry never lowers the TTL.
]]
--@include server-time
--@include raise-ttl
local not_after_ms = tonumber(ARGV[1])
local now_ms = server_time()

local function acquire(lock, holder, lease_ms, held_count)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    if held_count > 0 then
      return { "lost", kind == "hash" and 1 or 0 }
    end
    if kind == "hash" then
      return { "busy", redis.call("PTTL", lock), redis.call("HKEYS", lock)[1] }
    end
  elseif tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  local written = redis.pcall("HSET", lock, holder, string.format("%.0f", held_count + 1))
  if type(written) == "table" then
    return { "refused", written.err }
  end
  raise_ttl(lock, lease_ms)
  return { "held" }
end

local replies = { now_ms }
for i, lock in ipairs(KEYS) do
  local at = 3 * i - 1
  replies[i + 1] = acquire(lock, ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]))
end
return replies
