--[[
  raise-ttl: let a key live for at least so many milliseconds more; never shorten its life.
  A key without a TTL counts as the shortest, so that no lock outlives its holders.
]]
local function raise_ttl(key, lease_ms)
  if redis.call("PTTL", key) < tonumber(lease_ms) then
    redis.call("PEXPIRE", key, lease_ms)
  end
end
