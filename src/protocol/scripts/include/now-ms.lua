--[[
  now-ms: the server's clock as a number of milliseconds since the Unix epoch. No function, as the making of one is a part of what a
  short script takes.
]]
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
