--[[
  announce: tell the waiters of a semaphore how many permits are available. Publishes nothing if there is less than one, because a JVM's
  listener fails at negative numbers. Returns the number of receivers at this server plus the queued lines that were read.
]]
--@include publish
-- Set by a call that looks into the queue of waiting clients: a function that tells the first lines there that it is their turn, and
-- returns how many lines it found.
local look = nil
local function announce(channel, available)
  local waiting = look and look(available) or 0
  return waiting + (available >= 1 and publish(channel, string.format("%.0f", available)) or 0)
end
