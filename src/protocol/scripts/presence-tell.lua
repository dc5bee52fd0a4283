--[[
  presence-tell: a client reports to its group that it is present, what it is, and what it holds and waits for.
  May be repeated. A copy that arrives after a later call of the same client, or after its deadline, changes nothing.

  KEYS[1]  clients     sorted set, client id -> epoch milliseconds until which the client counts as present
  KEYS[2]  client      hash: v, meta, live, liveAt, at, every, beat
  ARGV[1]  notAfterMs  on the server's clock
  ARGV[2]  clientId
  ARGV[3]  beat        integer, grows with each call of the client
  ARGV[4]  everyMs     how often the client reports while it gets no answer
  ARGV[5]  leastMs     how often it wants to report; in a large group it reports less often
  ARGV[6]  keepMs      how long the report outlives the client
  ARGV[7]  meta        JSON, what the client is; "": unchanged
  ARGV[8]  live        JSON, what it holds and waits for; "": unchanged

  Returns  { serverMs, nextMs, needsMeta } or { serverMs, "late", stored }
           nextMs: how often clients of this group report. A client counts as present for three times nextMs or everyMs,
           whichever is longer
           needsMeta: 1 if the hash has no meta
           stored: the beat in the hash if it is higher than this one; else this one
  Compat   Redisson has no such keys; a JVM may write such keys itself.
]]
--@include now-ms
--@include let-end
local clients, client, not_after_ms, id = KEYS[1], KEYS[2], tonumber(ARGV[1]), ARGV[2]
local beat, every_ms, least_ms = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local keep_ms, meta, live = tonumber(ARGV[6]), ARGV[7], ARGV[8]
-- The clients of a large group report a hundred times a second in total, unless each client would then report less often than every ten
-- minutes.
local SHARE_MS, LONGEST_MS = 10, 600000
-- One call removes at most this many clients that have long been absent, so that no call takes long.
local MOST_FORGOTTEN = 1000
-- A stored beat that is at least this far ahead was not written by this client, and is replaced.
local FAR_AHEAD = 2 ^ 32

local stored = tonumber(redis.call("HGET", client, "beat") or "0") or 0
local ahead = stored - tonumber(beat)
if ahead > 0 and ahead < FAR_AHEAD then
  return { now_ms, "late", math.floor(stored) }
elseif now_ms > not_after_ms then
  return { now_ms, "late", tonumber(beat) }
end

local there = redis.call("ZCOUNT", clients, string.format("%.0f", now_ms + 1), "+inf")
local next_ms = math.min(math.max(least_ms, there * SHARE_MS), LONGEST_MS)
local told_ms = math.max(every_ms, next_ms)

local forgotten = redis.call("ZCOUNT", clients, "-inf", string.format("%.0f", now_ms - keep_ms))
local clients_ttl_ms = redis.call("PTTL", clients)
-- Both keys expire this long after the client's last report.
local needed_ms = 3 * told_ms + keep_ms
local ttl_ms = string.format("%.0f", needed_ms)
demand_end(client, ttl_ms)

local at = string.format("%.0f", now_ms)
redis.call("HSET", client, "v", "1", "at", at, "every", string.format("%.0f", told_ms), "beat", beat)
if meta ~= "" then
  redis.call("HSET", client, "meta", meta)
end
if live ~= "" then
  redis.call("HSET", client, "live", live, "liveAt", at)
end
if type(redis.pcall("PEXPIRE", client, ttl_ms)) == "table" then
  redis.pcall("DEL", client)
  -- Repeats the refused command, so that the call fails with the server's refusal.
  redis.call("PEXPIRE", client, ttl_ms)
end

redis.call("ZADD", clients, string.format("%.0f", now_ms + 3 * told_ms), id)
if clients_ttl_ms < needed_ms then
  redis.call("PEXPIRE", clients, ttl_ms)
end
if forgotten > 0 then
  local last_rank = math.min(forgotten, MOST_FORGOTTEN) - 1
  redis.call("ZREMRANGEBYRANK", clients, 0, string.format("%.0f", last_rank))
end

return { now_ms, next_ms, 1 - redis.call("HEXISTS", client, "meta") }
