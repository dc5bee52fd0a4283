--[[
  lock-succeed: let one holder of a client follow another, without the lock being free in between.

  KEYS[1]      lock         hash, holder -> hold count
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      leaseMs      integer > 0, milliseconds that the successor's lease lasts
  ARGV[3]      successor    "<client id>:<thread id>"
  then for each holder of the same client that may have the lock:
    predecessor  "<client id>:<thread id>"

  Returns  serverMs              the successor has it, with a hold count of 1; also when this is a repeat
           { serverMs, answer }, in all other cases:
           "late"                notAfterMs has passed
           "lost"                none of them has it
           { "wrong-type", type }
  Compat   Redisson has nothing like it; what is stored looks as if the successor had taken the lock. A predecessor's TTL
           may be longer, and is overwritten; a repeat never shortens what the successor has by then. The first write is a
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
      -- Whether the server would delete the predecessor: it has the lock as long as it is there. No holder is empty.
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
