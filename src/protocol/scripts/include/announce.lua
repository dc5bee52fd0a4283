--[[
  announce: tell the waiters of a semaphore how many permits there are. Without any, nothing is published: a JVM's listener
  fails at negative numbers.
]]
--@include publish
local function announce(channel, available)
  if available >= 1 then
    publish(channel, string.format("%.0f", available))
  end
end
