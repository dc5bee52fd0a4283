--[[
  read-write-look: the mode of a read-write lock.
  A hash without a mode is another kind of lock, which still excludes readers and writers.
]]
local function mode_of(lock)
  return redis.call("HGET", lock, "mode")
end
