--[[
  presence-tell: a client tells its group that it is there, what it is, and what it has and waits for.
  May be repeated. A copy that arrives after a later call of the same client, or after its deadline, changes nothing.

  KEYS[1]  clients     sorted set, client id -> epoch milliseconds until which the client is believed to be there
  KEYS[2]  client      hash: v, meta, live, liveAt, at, every, beat
  ARGV[1]  notAfterMs  on the server's clock
  ARGV[2]  clientId
  ARGV[3]  beat        integer, grows with each call of the client
  ARGV[4]  everyMs     until the next call; the client is believed to be there for three of them
  ARGV[5]  keepMs      how long what is told outlives the client
  ARGV[6]  meta        JSON, what the client is; "": as told before
  ARGV[7]  live        JSON, what it has and waits for; "": as told before

  Returns  { serverMs, there, needsMeta } or { serverMs, "late" }
           there: how many clients are believed to be there; needsMeta: 1 when the hash has no meta
  Compat   Redisson knows no such keys; a JVM may write them by itself.
]]
--@include now-ms
local clients, client, not_after_ms, id = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2]
local beat, every_ms, keep_ms, meta, live = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6], ARGV[7]
-- So many of the clients that have been gone for long are forgotten at once, so that no call takes long.
local MOST_FORGOTTEN = 1000

-- What no client has written is not heeded.
local last = tonumber(redis.call("HGET", client, "beat") or "0") or 0
if now_ms > not_after_ms or (last > tonumber(beat) and last < 2 ^ 53) then
  return { now_ms, "late" }
end

local at = string.format("%.0f", now_ms)
redis.call("HSET", client, "v", "1", "at", at, "every", ARGV[4], "beat", beat)
if meta ~= "" then
  redis.call("HSET", client, "meta", meta)
end
if live ~= "" then
  redis.call("HSET", client, "live", live, "liveAt", at)
end
-- Both keys end an hour after the client was there.
local needed_ms = 3 * every_ms + keep_ms
redis.call("PEXPIRE", client, string.format("%.0f", needed_ms))

redis.call("ZADD", clients, string.format("%.0f", now_ms + 3 * every_ms), id)
local forgotten = redis.call("ZCOUNT", clients, "-inf", string.format("%.0f", now_ms - keep_ms))
if forgotten > 0 then
  local last_rank = math.min(forgotten, MOST_FORGOTTEN) - 1
  redis.call("ZREMRANGEBYRANK", clients, 0, string.format("%.0f", last_rank))
end
if redis.call("PTTL", clients) < needed_ms then
  redis.call("PEXPIRE", clients, string.format("%.0f", needed_ms))
end

local there = redis.call("ZCOUNT", clients, string.format("%.0f", now_ms + 1), "+inf")
return { now_ms, there, 1 - redis.call("HEXISTS", client, "meta") }
