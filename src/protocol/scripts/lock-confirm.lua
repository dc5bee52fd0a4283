--[[
  lock-confirm: answer which locks are still held. Also writes, so that a replica that acknowledges the write has all holds that were
  found. Changes no TTL. Each lock has its own answer.

  KEYS, for each lock:
    lock         hash, holder -> hold count
    hold, …      strings, the keys of a reader's holds, as many as holds
  ARGV, for each lock:
    holds        how many keys of holds there are
    count        how many holders follow
    holder, …    "<client id>:<thread id>", each of which may have the lock

  Returns  { serverMs, answer, … } with one answer per lock, as lock-renew
  Compat   Redisson does not check its locks after a failover. This script changes nothing that Redisson reads.
]]
--@include now-ms
local function found_holder(lock, arg_at, count)
  for at = arg_at + 2, arg_at + 1 + count do
    if redis.call("HEXISTS", lock, ARGV[at]) == 1 then
      return ARGV[at]
    end
  end
  return nil
end

local function confirm(key_at, arg_at, holds, count)
  local lock = KEYS[key_at]
  local answer = redis.pcall("TYPE", lock)
  if answer.err then
    return { "refused", answer.err }
  end
  local holder = answer.ok == "hash" and found_holder(lock, arg_at, count)
  if not holder then
    return { "lost" }
  end
  for i = 1, holds do
    if redis.call("EXISTS", KEYS[key_at + i]) == 0 then
      return { "lost" }
    end
  end
  -- A full server refuses the HSET unless the script has already written. This HDEL deletes nothing: no holder has an empty name.
  redis.call("HDEL", lock, "")
  redis.call("HSET", lock, holder, redis.call("HGET", lock, holder))
  return { "renewed" }
end

local replies = { now_ms }
local key_at, arg_at = 1, 1
while key_at <= #KEYS do
  local holds, count = tonumber(ARGV[arg_at]), tonumber(ARGV[arg_at + 1])
  replies[#replies + 1] = confirm(key_at, arg_at, holds, count)
  key_at = key_at + 1 + holds
  arg_at = arg_at + 2 + count
end
return replies
