--[[
  set-ttl: let a lock live for so many milliseconds from now on, longer or shorter than it would have. Returns whether it ends so much
  sooner that its waiters are to be told: they sleep by the TTL that they have seen, and nothing is published when a key expires. What two
  entries of one holder lie apart, and what a command was under way for, is not told: waiters sleep a hundredth of the lease longer.
]]
local WORTH_TELLING_MS, WORTH_TELLING_SHARE = 100, 0.01

local function set_ttl(key, ttl_ms, worth_telling_share)
  local seen_ms, new_ms = redis.call("PTTL", key), tonumber(ttl_ms)
  redis.call("PEXPIRE", key, ttl_ms)
  local worth_telling_ms = math.max(WORTH_TELLING_MS, new_ms * (worth_telling_share or WORTH_TELLING_SHARE))
  return seen_ms == -1 or seen_ms >= new_ms + worth_telling_ms
end
