--[[
  now-ms: the server's clock in milliseconds since the Unix epoch. Not a function, because creating one is a noticeable part of a
  short script's time.
]]
local time = redis.call("TIME")
local now_ms = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
