--[[
  any-holder: one of those who hold a lock, "" when it is free. A read-write lock says its mode in a field besides.
]]
local function any_holder(lock)
  local fields = redis.call("HKEYS", lock)
  return fields[1] == "mode" and fields[2] or fields[1] or ""
end
