--[[
  permit-confirm: answer which leased permits are still taken. Also writes, so that a replica that acknowledges the write has all
  permits that were found. Changes no lease. Each semaphore has its own answer.

  KEYS[i]      leases     for each semaphore: sorted set, id of a permit -> end of its lease
  ARGV[i]      permitIds  32 hexadecimal digits for each permit

  Returns  { serverMs, answer, … } with one answer per semaphore, as permit-renew
  Compat   Redisson does not check its permits after a failover. This script changes nothing that Redisson reads.
]]
--@include request
--@include leased-permits
local function confirm(semaphore, ids)
  local answer = redis.pcall("TYPE", semaphore.leases)
  if answer.err then
    return { "refused", answer.err }
  end
  if answer.ok ~= "zset" or count_absent(semaphore, ids) > 0 then
    return { "lost" }
  end
  -- A full server refuses the ZADD unless the script has already written. This ZREM removes nothing: no permit has an empty id.
  redis.call("ZREM", semaphore.leases, "")
  redis.call("ZADD", semaphore.leases, "0", "")
  redis.call("ZREM", semaphore.leases, "")
  return { "renewed" }
end

local replies = { now_ms }
for i, leases in ipairs(KEYS) do
  replies[i + 1] = confirm({ leases = leases }, raw_ids(ARGV[i]))
end
return replies
