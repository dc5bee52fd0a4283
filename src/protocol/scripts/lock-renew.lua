--[[
  lock-renew: prolong held locks. Never recreates a lost hold. Each lock has its own answer.

  KEYS[i]    lock       hash, holder -> hold count
  ARGV, for each lock:
    holder   "<client id>:<thread id>"
  then for each lock, where the last value applies to all remaining locks:
    leaseMs  integer > 0, milliseconds

  Returns  { serverMs, answer, … } with one answer per lock, where the last one applies to all remaining locks:
           "renewed"
           "lost"                  the lock has no field for the holder
           { "refused", message }  the server refused the command
  Compat   Redisson LockTask does the same, but overwrites the TTL; this script only raises it.
]]
--@include now-ms
--@include raise-ttl
local function renew(lock, holder, lease_ms)
  local there = redis.pcall("HEXISTS", lock, holder)
  if type(there) == "table" then
    return string.find(there.err, "WRONGTYPE", 1, true) and "lost" or { "refused", there.err }
  elseif there == 0 then
    return "lost"
  end
  raise_ttl(lock, lease_ms)
  return "renewed"
end

local replies, are_renewed = { now_ms }, true
for i, lock in ipairs(KEYS) do
  local answer = renew(lock, ARGV[i], ARGV[math.min(#KEYS + i, #ARGV)])
  are_renewed = are_renewed and answer == "renewed"
  replies[i + 1] = answer
end
return are_renewed and { replies[1], "renewed" } or replies
