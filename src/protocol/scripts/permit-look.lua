--[[
  permit-look: answer how many permits of a permit-expirable semaphore are available and taken, and the remaining lease of one of them.
  May be repeated: it only reclaims expired permits.

  KEYS[1]  permits   string, integer: the available permits
  KEYS[2]  leases    sorted set, id of a permit -> end of its lease
  ARGV[1]  channel   channel of the waiters
  ARGV[2]  permitId  32 hexadecimal digits; "" for none

  Returns  { serverMs, answer }:
           { "permits", exists, available, acquired, ms }
                                   exists: 1 if the semaphore exists, else 0; ms: the remaining lease of the permit, -1 if
                                   it is permanent, -2 if there is no such permit
           { "wrong-type", type }  a key has another type
  Compat   Redisson RedissonPermitExpirableSemaphore.availablePermitsAsync, acquiredPermitsAsync, getPermitsAsync and
           getLeaseTimeAsync answer the same, by their client's clock.
]]
--@include request
--@include leased-permits
local semaphore = { permits = KEYS[1], leases = KEYS[2], channel = ARGV[1] }

local function left_ms(id)
  if not id or not is_leased(semaphore, id) then
    return -2
  end
  local ends_ms = lease_end(semaphore, id)
  return ends_ms < PERMANENT and ends_ms - now_ms or -1
end

local foreign = foreign_semaphore(semaphore)
if foreign then
  return { now_ms, { "wrong-type", foreign } }
end
reclaim(semaphore)
local available = count_of(semaphore.permits)
local unswept = count_expired(semaphore)
local acquired = redis.call("ZCARD", semaphore.leases) - unswept
local exists = available and 1 or 0
return { now_ms, { "permits", exists, milliseconds((available or 0) + unswept), acquired, left_ms(raw_ids(ARGV[2])[1]) } }
