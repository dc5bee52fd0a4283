--[[
  raise-ttl: make a key live at least this many milliseconds; never shorten its TTL.
  A missing TTL counts as the shortest, so that no lock outlives its holders. A repeat, which has nothing else to write, always
  writes the TTL: WAIT counts only writes of its own connection, and on a new connection this may be the only write.
]]
local function raise_ttl(key, lease_ms, is_repeat)
  local ttl_ms = redis.call("PTTL", key)
  if is_repeat or ttl_ms < tonumber(lease_ms) then
    redis.call("PEXPIRE", key, string.format("%.0f", math.max(ttl_ms, tonumber(lease_ms))))
  end
end
