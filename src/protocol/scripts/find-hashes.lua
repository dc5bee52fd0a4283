--[[
  find-hashes: the keys of some hashes of this server, as one step of going through all its keys. A server is known by its run
  id, as only its own cursors lead on: one that was not asked before begins anew.

  ARGV[1]  count  about how many keys to go through
  then for each server that was asked before:
    runId
    cursor  "0": it has gone through all of them

  Returns  { runId, cursor, { key, … } }
           without keys whose names have more than 4,096 bytes
           runId is "" where INFO is not allowed
  Compat   Reads only, and declares no key: it is to be asked at each master of a cluster. What a key holds is read by calls
           that declare it.
]]
local count, info = ARGV[1], redis.pcall("INFO", "server")
local LONGEST_NAME = 4096
local run_id = type(info) == "string" and string.match(info, "run_id:(%w+)") or ""

local cursor
for at = 2, #ARGV, 2 do
  if ARGV[at] == run_id then
    cursor = ARGV[at + 1]
  end
end
if cursor == "0" then
  return { run_id, "0", {} }
end

local found = redis.call("SCAN", cursor or "0", "TYPE", "hash", "COUNT", count)
local keys = {}
for _, key in ipairs(found[2]) do
  if #key <= LONGEST_NAME then
    keys[#keys + 1] = key
  end
end
return { run_id, found[1], keys }
