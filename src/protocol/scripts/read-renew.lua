--[[
  read-renew: prolong held read locks. Never recreates a lost hold. Each lock has its own answer.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    hold, …      strings, the keys of the holder's holds, as many as holdMs
  ARGV, for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    count      how many holdMs follow
    holdMs, …  integers, milliseconds; 0 if there is no hold with that number

  Returns  { serverMs, answer, … } with one answer per lock, as lock-renew. If the key of a hold is missing, the whole lock is lost,
           because a field in the hash alone is not a live hold.
  Compat   Redisson ReadLockTask does the same, but overwrites the TTLs, before 4.4 even those of other clients' holds; this
           script only raises TTLs.
]]
--@include now-ms
--@include raise-ttl
local function is_gone(key_at, arg_at, count)
  for i = 1, count do
    if ARGV[arg_at + 2 + i] ~= "0" and redis.call("EXISTS", KEYS[key_at + i]) == 0 then
      return true
    end
  end
  return false
end

local function renew(key_at, arg_at, count)
  local lock = KEYS[key_at]
  local answer = redis.pcall("TYPE", lock)
  if answer.err then
    return { "refused", answer.err }
  end
  if answer.ok ~= "hash" or redis.call("HEXISTS", lock, ARGV[arg_at]) == 0 or is_gone(key_at, arg_at, count) then
    return { "lost" }
  end
  for i = 1, count do
    if ARGV[arg_at + 2 + i] ~= "0" then
      raise_ttl(KEYS[key_at + i], ARGV[arg_at + 2 + i])
    end
  end
  raise_ttl(lock, ARGV[arg_at + 1])
  return { "renewed" }
end

local replies = { now_ms }
local key_at, arg_at = 1, 1
while key_at <= #KEYS do
  local count = tonumber(ARGV[arg_at + 2])
  replies[#replies + 1] = renew(key_at, arg_at, count)
  key_at = key_at + 1 + count
  arg_at = arg_at + 3 + count
end
return replies
