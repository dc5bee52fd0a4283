--[[
  server-probe: what a client has to know about a server before its first command.

  KEYS[1]  any key  in a cluster: its server is asked; nothing is done to it

  Returns  { serverMs, version, sharded, policy, role, memory }
           version is the text of INFO's redis_version, or nil where INFO is not allowed
           sharded is 1 where there are sharded messages; always 0 without a key
           policy is the text of INFO's maxmemory_policy, role that of its role, and memory that of its maxmemory, in bytes;
           each is nil where it is not told
  Compat   Valkey answers the version of Redis that it is compatible with. Redisson PublishSubscribeService asks a cluster for
           sharded messages by the same command.
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
