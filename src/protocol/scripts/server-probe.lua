--[[
  server-probe: what a client has to know about a server before its first command.

  Returns  { serverMs, version }
           version is the text of INFO's redis_version, or nil where INFO is not allowed
  Compat   Valkey answers the version of Redis that it is compatible with.
]]
--@include server-time
local info = redis.pcall("INFO", "server")
return { server_time(), type(info) == "string" and string.match(info, "redis_version:([%d.]+)") }
