--[[
  publish: tell all who listen to a channel. A client of a cluster with sharded messages sends SPUBLISH in place of PUBLISH.
  A user who may not publish changes what is stored all the same; waiters then live by TTLs and their own timers. Returns how
  many heard it at this server.
]]
local function publish(channel, message)
  local heard = redis.pcall("PUBLISH", channel, message)
  return type(heard) == "number" and heard or 0
end
