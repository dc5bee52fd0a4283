--[[
  publish: tell all who listen to a channel. A client of a cluster with sharded messages sends SPUBLISH in place of PUBLISH.
  A user who may not publish changes what is stored all the same; waiters then live by TTLs and their own timers.
]]
local function publish(channel, message)
  redis.pcall("PUBLISH", channel, message)
end
