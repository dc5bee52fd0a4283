--[[
  set-ttl: let a lock live for so many milliseconds from now on, longer or shorter than it would have. Returns whether it ends so much
  sooner that its waiters are to be told: they sleep by the TTL that they have seen, and nothing is published when a key expires. A holder
  that writes its own lease once more takes off what the command was under way for: that is not told.
]]
local WORTH_TELLING_MS = 100

local function set_ttl(key, ttl_ms, worth_telling_ms)
  local seen_ms = redis.call("PTTL", key)
  redis.call("PEXPIRE", key, ttl_ms)
  return seen_ms == -1 or seen_ms >= tonumber(ttl_ms) + (worth_telling_ms or WORTH_TELLING_MS)
end
