--[[
  permit-look: how many permits of a permit-expirable semaphore are available and out, and how long one of them is leased.
  May be repeated: it changes nothing but what time has changed.

  KEYS[1]  permits   string, integer: what is available
  KEYS[2]  leases    sorted set, id of a permit -> end of its lease
  ARGV[1]  channel   where waiters listen
  ARGV[2]  permitId  32 hexadecimal digits; "" for none

  Returns  { serverMs, answer }:
           { "permits", exists, available, acquired, ms }
                                   exists: 1 or 0; ms: what is left of the lease, -1 of a permanent permit, -2 of none
           { "wrong-type", type }  a key is something else
  Compat   Redisson RedissonPermitExpirableSemaphore.availablePermitsAsync, acquiredPermitsAsync, getPermitsAsync and
           getLeaseTimeAsync, by the server's clock.
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
