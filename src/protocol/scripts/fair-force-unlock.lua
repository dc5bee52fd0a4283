--[[
  fair-force-unlock: free a fair lock from the holders that the caller has seen, and from no other holder. The lock goes
  to the next waiter. Also used for a lock of unknown kind, because a fair lock without waiters is stored like any other lock.

  KEYS[1]  lock        hash, holder -> hold count
  KEYS[2]  queue       list of waiting holders, the next one first
  KEYS[3]  timeouts    sorted set, waiting holder -> epoch milliseconds until which JVMs consider it alive
  KEYS[4]  alive       sorted set, waiting holder of holdfast -> epoch milliseconds until which holdfast considers it alive
  KEYS[5]  waiting     sorted set, client id -> place, of the clients that wait for a lock without a fair queue
  ARGV[1]  notAfterMs  epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]  channel     channel of the waiters; a JVM's waiter appends its holder, a client of holdfast its client id
  ARGV[3]  tellsAll    1: the lock may be of another kind, whose waiters listen on the channel itself, and are notified; 0: it is fair
  then the five times of fair-queue, then for each holder seen:
    holder     "<client id>:<thread id>"
    holdCount  integer > 0

  Returns  { serverMs, answer }, as lock-force-unlock
  Compat   Redisson RedissonFairLock.forceUnlockAsync deletes the lock whatever its holder.
]]
--@include server-time
--@include fair-queue
--@include call-first
local lock, queue, timeouts, alive = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local not_after_ms, channel, tells_all = tonumber(ARGV[1]), ARGV[2], ARGV[3] == "1"
local now_ms, times = server_time(), fair_times(4)

local function force_unlock()
  local fair = fair_lock(lock, queue, timeouts, alive, channel)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = wrong_type(fair)
  if kind then
    return { "wrong-type", kind }
  end
  if redis.call("EXISTS", lock) == 0 then
    return { "absent" }
  end
  local seen = (#ARGV - 8) / 2
  if redis.call("HLEN", lock) ~= seen then
    return { "changed" }
  end
  for i = 1, seen do
    if redis.call("HGET", lock, ARGV[2 * i + 7]) ~= ARGV[2 * i + 8] then
      return { "changed" }
    end
  end
  redis.call("DEL", lock)
  lock_changed(fair)
  pass_on(fair, now_ms, times)
  if tells_all then
    publish(channel, "0")
    call_first(KEYS[5], channel)
  end
  return { "released" }
end

local answer = force_unlock()
finish(now_ms)
return { now_ms, answer }
