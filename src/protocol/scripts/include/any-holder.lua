--[[
  any-holder: one of the holders of a lock; "" when it is free. A read-write lock has an additional field, its mode.
]]
local function any_holder(lock)
  local fields = redis.call("HKEYS", lock)
  return fields[1] == "mode" and fields[2] or fields[1] or ""
end
