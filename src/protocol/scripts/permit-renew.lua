--[[
  permit-renew: prolong the leases of permits. Never recreates a permit that is gone or expired.
  Each semaphore has its own answer.

  KEYS[i]      leases     for each semaphore: sorted set, id of a permit -> end of its lease
  ARGV, for each semaphore:
    permitIds  32 hexadecimal digits for each permit
    leaseMs    integer > 0, milliseconds

  Returns  { serverMs, answer, … } with one answer per semaphore:
           { "renewed" }
           { "lost" }              at least one of the permits is gone or expired
           { "refused", message }  the server refused the command
  Compat   Redisson has no watchdog for permits. This script never shortens a lease.
]]
--@include request
--@include leased-permits
local function renew(semaphore, ids, lease_ms)
  local answer = redis.pcall("TYPE", semaphore.leases)
  if answer.err then
    return { "refused", answer.err }
  end
  if answer.ok ~= "zset" or count_absent(semaphore, ids) > 0 then
    return { "lost" }
  end
  -- A full server refuses the ZADD unless the script has already written. This ZREM removes nothing: no permit has an empty id.
  redis.call("ZREM", semaphore.leases, "")
  prolong(semaphore, ids, now_ms + lease_ms)
  return { "renewed" }
end

local replies = { now_ms }
for i, leases in ipairs(KEYS) do
  replies[i + 1] = renew({ leases = leases }, raw_ids(ARGV[2 * i - 1]), tonumber(ARGV[2 * i]))
end
return replies
