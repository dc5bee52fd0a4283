--[[
  raise-ttl: let a key live for at least so many milliseconds more; never shorten its life.
  A key without a TTL counts as the shortest, so that no lock outlives its holders. It writes in any case: replicas are asked
  about what a connection has written, and of a repeat on a new one this may be all.
]]
local function raise_ttl(key, lease_ms)
  redis.call("PEXPIRE", key, string.format("%.0f", math.max(redis.call("PTTL", key), tonumber(lease_ms))))
end
