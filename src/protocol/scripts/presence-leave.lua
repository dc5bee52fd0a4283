--[[
  presence-leave: a client that is closed takes away what it has told its group.
  May be repeated.

  KEYS[1]  clients   sorted set, client id -> epoch milliseconds until which the client is believed to be there
  KEYS[2]  client    hash, what the client has told
  ARGV[1]  clientId

  Returns  { serverMs }
  Compat   Redisson knows no such keys.
]]
--@include now-ms
local clients, client, id = KEYS[1], KEYS[2], ARGV[1]
redis.call("ZREM", clients, id)
redis.call("DEL", client)
return { now_ms }
