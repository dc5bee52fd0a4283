--[[
  presence-list: what the clients of one page have told, and the ids of the next page.
  May be repeated: it changes nothing.

  KEYS[1]  clients    sorted set, client id -> epoch milliseconds until which the client is believed to be there
  then for each client of this page:
    KEYS   client     hash, what the client has told
  ARGV[1]  fromScore  where the next page begins; "-inf" at first
  ARGV[2]  skip       how many ids with that score or a higher one were read before
  ARGV[3]  limit      how many ids of the next page are answered at most
  ARGV[4]  roomBytes  once the texts that are answered take so many bytes, the rest of this page is left out
  ARGV[5]  mostBytes  a longer meta or live is left out
  then for each client of this page:
    ARGV   liveAt     as it was answered before: meta and live are left out when it is the same; "": nothing was answered

  Returns  { serverMs, { id, score, … }, { v, at, every, liveAt, meta, live }, … } with one list for each client, perhaps
           fewer than there are keys, but one at least; v is "" for a key that is no such hash; what is missing is ""
  Compat   Reads only.
]]
--@include now-ms
local clients, from_score, skip, limit = KEYS[1], ARGV[1], ARGV[2], ARGV[3]
local room_bytes, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])

local function field(client, name)
  local value = redis.pcall("HGET", client, name)
  return type(value) == "string" and value or ""
end

local function text(client, name)
  local value = field(client, name)
  return #value <= most_bytes and value or ""
end

local function told(client, known_at)
  local version, at, every = field(client, "v"), field(client, "at"), field(client, "every")
  local live_at = field(client, "liveAt")
  if version == "" or (known_at ~= "" and live_at == known_at) then
    return { version, at, every, live_at, "", "" }
  end
  return { version, at, every, live_at, text(client, "meta"), text(client, "live") }
end

local ids = {}
if limit ~= "0" then
  ids = redis.call("ZRANGE", clients, from_score, "+inf", "BYSCORE", "LIMIT", skip, limit, "WITHSCORES")
end
local replies = { now_ms, ids }
local used_bytes = 0
for at = 2, #KEYS do
  if used_bytes >= room_bytes then
    break
  end
  local reply = told(KEYS[at], ARGV[at + 4])
  for _, value in ipairs(reply) do
    used_bytes = used_bytes + #value
  end
  replies[at + 1] = reply
end
return replies
