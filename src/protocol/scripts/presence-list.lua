--[[
  presence-list: read the reports of one page of clients, and the ids of the next page. Any program may have written the reports: a
  value that is longer than a client would write is not read.
  May be repeated, because it changes nothing.

  KEYS[1]  clients    sorted set, client id -> epoch milliseconds until which the client counts as present
  then for each client of this page:
    KEYS   client     hash, the client's report
  ARGV[1]  before     "(" and the score at which the next page begins; "(-inf" at first
  ARGV[2]  skip       how many ids with that score or a higher one to skip, because they were already read
  ARGV[3]  limit      how many ids of the next page to return at most
  ARGV[4]  roomBytes  after this many bytes, the rest of this page is left out
  ARGV[5]  mostBytes  a meta or live with more bytes is left out
  then for each client of this page:
    ARGV   liveAt     from an earlier answer: if it is unchanged, meta and live are left out; "": no earlier answer

  Returns  { serverMs, { id, score, … }, entries, { v, at, every, liveAt, meta, live }, … } with one list for each client; it may
           stop early, after at least one client. entries: the size of clients. An id is "" if it does not have the length of
           a client id; v is "" for a key that is not a report; missing values are ""
  Compat   Only reads.
]]
--@include now-ms
local clients, before, skip, limit = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local room_bytes, most_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local ID_BYTES, LONGEST_NUMBER = 36, 16

local function text(client, name, longest)
  if redis.call("HSTRLEN", client, name) > longest then
    return ""
  end
  return redis.call("HGET", client, name) or ""
end

local function told(client, known_at)
  if redis.call("TYPE", client).ok ~= "hash" then
    return { "", "", "", "", "", "" }
  end
  local version, at = text(client, "v", LONGEST_NUMBER), text(client, "at", LONGEST_NUMBER)
  local every, live_at = text(client, "every", LONGEST_NUMBER), text(client, "liveAt", LONGEST_NUMBER)
  if version == "" or (known_at ~= "" and live_at == known_at) then
    return { version, at, every, live_at, "", "" }
  end
  return { version, at, every, live_at, text(client, "meta", most_bytes), text(client, "live", most_bytes) }
end

local used_bytes = 0
local function count_bytes(values)
  for _, value in ipairs(values) do
    used_bytes = used_bytes + #value
  end
end

local ids = {}
if limit > 0 then
  -- Reads the ids by rank, because LIMIT makes the server read every entry that it skips.
  local first = redis.call("ZCOUNT", clients, "-inf", before) + skip
  ids = redis.call("ZRANGE", clients, first, first + limit - 1, "WITHSCORES")
end
for at = 1, #ids, 2 do
  if #ids[at] ~= ID_BYTES then
    ids[at] = ""
  end
end
count_bytes(ids)

local replies = { now_ms, ids, redis.call("ZCARD", clients) }
for at = 2, #KEYS do
  -- The first client is always included, so that the reader makes progress.
  if at > 2 and used_bytes >= room_bytes then
    break
  end
  local reply = told(KEYS[at], ARGV[at + 4])
  count_bytes(reply)
  replies[#replies + 1] = reply
end
return replies
