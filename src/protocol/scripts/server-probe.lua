--[[
  server-probe: read what a client must know about a server before its first command.

  KEYS[1]  any key  in a cluster: selects the server; it is neither read nor written

  Returns  { serverMs, version, sharded, policy, role, memory }
           version is INFO's redis_version as text, or nil if INFO is not allowed
           sharded is 1 if the server has sharded messages; always 0 without a key
           policy, role and memory are INFO's maxmemory_policy, role and maxmemory (bytes) as text;
           each is nil if unknown
  Compat   Valkey answers the version of Redis that it is compatible with. Redisson PublishSubscribeService uses
           the same command to find out whether a cluster has sharded messages.
]]
--@include now-ms
local info = redis.pcall("INFO")
local function told(pattern)
  return type(info) == "string" and string.match(info, pattern)
end
local sharded = KEYS[1] and redis.pcall("PUBSUB", "SHARDNUMSUB")
return {
  now_ms,
  told("redis_version:([%d.]+)"),
  sharded and not sharded.err and 1 or 0,
  told("maxmemory_policy:([%w-]+)"),
  told("\nrole:(%a+)"),
  told("\nmaxmemory:(%d+)"),
}
