--[[
  read-write-look: the mode of a read-write lock, and a holder of it other than the mode.
  A hash without a mode is a lock of another kind, which holds up readers and writers all the same.
]]
local function mode_of(lock)
  return redis.call("HGET", lock, "mode")
end

local function any_holder(lock)
  local fields = redis.call("HKEYS", lock)
  return fields[1] == "mode" and fields[2] or fields[1] or ""
end
