--[[
  read-write-look: the mode of a read-write lock.
  A hash without a mode is a lock of another kind, which holds up readers and writers all the same.
]]
local function mode_of(lock)
  return redis.call("HGET", lock, "mode")
end
