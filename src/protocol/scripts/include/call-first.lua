--[[
  call-first: tell the first of the clients that wait for a lock to ask, after the lock was freed without a look into its queue.
]]
--@include publish
local function call_first(queue, channel)
  local first = redis.pcall("ZRANGE", queue, "1", "+inf", "BYSCORE", "LIMIT", "0", "1")
  if first[1] then
    publish(channel .. ":" .. first[1], "turn")
  end
end
