--[[
  any-holder: return one of the holders of a lock; "" when the lock is free. Skips the mode, an additional field of a read-write lock.
]]
local function any_holder(lock)
  local fields = redis.call("HKEYS", lock)
  return fields[1] == "mode" and fields[2] or fields[1] or ""
end
