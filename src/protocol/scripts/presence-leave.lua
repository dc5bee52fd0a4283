--[[
  presence-leave: remove the report of a closed client from its group.
  May be repeated.

  KEYS[1]  clients   sorted set, client id -> epoch milliseconds until which the client counts as present
  KEYS[2]  client    hash, the client's report
  ARGV[1]  clientId

  Returns  { serverMs }
  Compat   Redisson has no such keys.
]]
--@include now-ms
local clients, client, id = KEYS[1], KEYS[2], ARGV[1]
redis.call("ZREM", clients, id)
redis.call("DEL", client)
return { now_ms }
