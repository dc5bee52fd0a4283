--[[
  publish: send a message to a channel. A client of a cluster with sharded messages sends SPUBLISH in place of PUBLISH. For a
  user without the right to publish the script goes on; waiters then live by TTLs and their own timers. Returns the number of
  subscribers at this server that got it.
]]
local function publish(channel, message)
  local heard = redis.pcall("PUBLISH", channel, message)
  return type(heard) == "number" and heard or 0
end
