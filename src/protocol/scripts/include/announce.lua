--[[
  announce: tell the waiters of a semaphore how many permits there are. Without any, nothing is published: a JVM's listener
  fails at negative numbers. Returns how many have heard of it at this server, and how many wait in the queue, as far as it was read.
]]
--@include publish
-- Set by a call that looks into the queue of the clients that wait: tells the first of them, and returns how many were found.
local look = nil
local function announce(channel, available)
  local waiting = look and look(available) or 0
  return waiting + (available >= 1 and publish(channel, string.format("%.0f", available)) or 0)
end
