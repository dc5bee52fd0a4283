--[[
  set-ttl: set the TTL of a lock, longer or shorter than before. Returns whether the lock now expires so much sooner that its waiters
  must be told: waiters sleep for the TTL that they have seen, and Redis publishes no message at an expiry. Waiters are not told of small
  differences, such as the time between two entries of one holder: they then sleep about a hundredth of the lease too long.
]]
local WORTH_TELLING_MS, WORTH_TELLING_SHARE = 100, 0.01

local function set_ttl(key, ttl_ms, worth_telling_share)
  local seen_ms, new_ms = redis.call("PTTL", key), tonumber(ttl_ms)
  redis.call("PEXPIRE", key, ttl_ms)
  local worth_telling_ms = math.max(WORTH_TELLING_MS, new_ms * (worth_telling_share or WORTH_TELLING_SHARE))
  return seen_ms == -1 or seen_ms >= new_ms + worth_telling_ms
end
