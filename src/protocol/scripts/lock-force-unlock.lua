--[[
  lock-force-unlock: free a lock from the holders that the caller has seen, and from no other holder.

  KEYS[1]  lock        hash, holder -> hold count
  KEYS[2]  queue       sorted set, client id -> place, of the clients that wait for the lock
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  channel     channel of the waiters; a client's own channel appends the client id
  then for each holder seen:
    holder     "<client id>:<thread id>"
    holdCount  integer > 0

  Returns  { serverMs, answer }:
           { "released" }          freed; the waiters are notified
           { "absent" }            the lock is free
           { "changed" }           its holders or their counts are not those seen; nothing was done
           { "late" }              notAfterMs has passed
           { "wrong-type", type }  the key is not a hash
  Compat   Redisson RedissonLock.forceUnlockAsync deletes the lock whatever its holder, so a repeat may free it from the next holder.
]]
--@include call-first
--@include now-ms
local lock, queue, not_after_ms, channel = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2]

local function force_unlock()
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = redis.call("TYPE", lock).ok
  if kind == "none" then
    return { "absent" }
  end
  if kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local seen = (#ARGV - 2) / 2
  if redis.call("HLEN", lock) ~= seen then
    return { "changed" }
  end
  for i = 1, seen do
    if redis.call("HGET", lock, ARGV[2 * i + 1]) ~= ARGV[2 * i + 2] then
      return { "changed" }
    end
  end
  redis.call("DEL", lock)
  publish(channel, "0")
  call_first(queue, channel)
  return { "released" }
end

return { now_ms, force_unlock() }
