--[[
  read-write-force-unlock: free a read-write lock from the holders that the caller has seen, and from no other holder.

  KEYS[1]  lock        hash, "mode" -> "read" or "write", holder -> hold count
  KEYS[2]  queue       sorted set, client id -> place, of the clients that wait for the write lock
  then for each seen hold of a reader:
    hold               string, the key of the hold
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  channel     channel of the waiters; a client's own channel appends the client id
  ARGV[3]  message     published to the waiters
  then for each seen field, including "mode":
    field      "mode" or a holder
    value      the mode or the hold count

  Returns  { serverMs, answer }, as lock-force-unlock
  Compat   Redisson RedissonReadLock and RedissonWriteLock.forceUnlockAsync leave the keys of the holds behind.
]]
--@include call-first
--@include now-ms
local lock, queue, not_after_ms, channel, message = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2], ARGV[3]

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
  local seen = (#ARGV - 3) / 2
  if redis.call("HLEN", lock) ~= seen then
    return { "changed" }
  end
  for i = 1, seen do
    if redis.call("HGET", lock, ARGV[2 * i + 2]) ~= ARGV[2 * i + 3] then
      return { "changed" }
    end
  end
  redis.call("DEL", lock)
  for i = 3, #KEYS do
    redis.call("DEL", KEYS[i])
  end
  publish(channel, message)
  call_first(queue, channel)
  return { "released" }
end

return { now_ms, force_unlock() }
