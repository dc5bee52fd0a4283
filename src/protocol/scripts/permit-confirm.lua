--[[
  permit-confirm: say which leased permits are still taken. Also writes, so that a replica that acknowledges the write has all that were
  found. Does not change their leases. Each semaphore has its own answer.

  KEYS[i]      leases     for each semaphore: sorted set, id of a permit -> end of its lease
  ARGV[i]      permitIds  32 hexadecimal digits for each permit

  Returns  { serverMs, answer, … } with one answer per semaphore, as permit-renew
  Compat   Redisson does not check when a server changes; nothing that it reads is changed.
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
  -- A full server refuses to add data unless the script has already written. No permit has an empty id.
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
