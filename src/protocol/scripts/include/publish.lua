--[[
  publish: send a message to a channel. A client of a cluster with sharded messages sends SPUBLISH instead of PUBLISH. If the user
  may not publish, the script continues; waiters then rely on TTLs and their own timers. Returns the number of subscribers at this
  server that received the message.
]]
local function publish(channel, message)
  local heard = redis.pcall("PUBLISH", channel, message)
  return type(heard) == "number" and heard or 0
end
