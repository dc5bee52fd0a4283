--[[
  lock-succeed: replace one holder of a client by another, without freeing the lock in between.

  KEYS[1]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      leaseMs      integer > 0, the successor's lease in milliseconds
  ARGV[3]      successor    "<client id>:<thread id>"
  then for each holder of the same client that may have the lock:
    predecessor  "<client id>:<thread id>"

  Returns  serverMs              the successor has the lock, with a hold count of 1; also for a repeat
           { serverMs, answer }, in all other cases:
           "late"                notAfterMs has passed
           "lost"                no predecessor has the lock
           { "wrong-type", type }
  Compat   Redisson has no such script; the stored state looks as if the successor had taken the lock. A predecessor's TTL
           may be longer, and is overwritten; a repeat never shortens the successor's TTL. The first write is an
           HDEL, which a full server still accepts.
]]
--@include now-ms
--@include raise-ttl
local lock = KEYS[1]
local not_after_ms, lease_ms, successor = tonumber(ARGV[1]), ARGV[2], ARGV[3]

local function succeed()
  if now_ms > not_after_ms then
    return "late"
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  if redis.call("HEXISTS", lock, successor) == 1 then
    raise_ttl(lock, lease_ms)
    return "held"
  end
  for i = 4, #ARGV do
    local predecessor = ARGV[i]
    if redis.call("HEXISTS", lock, predecessor) == 1 then
      -- Tests whether the server accepts an HDEL: if the server refuses to delete the predecessor's field, the predecessor keeps the lock. This
      -- HDEL deletes nothing: no holder has an empty name.
      redis.call("HDEL", lock, "")
      redis.call("PEXPIRE", lock, lease_ms)
      redis.call("HSET", lock, successor, "1")
      redis.call("HDEL", lock, predecessor)
      return "held"
    end
  end
  return "lost"
end

local answer = succeed()
return answer == "held" and now_ms or { now_ms, answer }
