--[[
  read-write-holds: how long the readers of a read-write lock still hold it. Each of their holds has its own key,
  "<prefix>:<holder>:rwlock_timeout:<index>", which lives as long as its lease. A hold count above a limit counts as the limit,
  so that an unreasonable count does not hold up the server.
]]
--@include write-field
local MOST_HOLDS = 10000

local function longest_read_ms(lock, prefix)
  local longest = 0
  local fields = redis.call("HGETALL", lock)
  for i = 1, #fields, 2 do
    local holder, count = fields[i], tonumber(fields[i + 1])
    if count and holder ~= "mode" and not is_write_field(holder) then
      for index = 1, math.min(count, MOST_HOLDS) do
        local key = prefix .. ":" .. holder .. ":rwlock_timeout:" .. string.format("%.0f", index)
        longest = math.max(longest, redis.call("PTTL", key))
      end
    end
  end
  return longest
end
