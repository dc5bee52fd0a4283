--[[
  find-hashes: make one step of a scan through all keys of this server. Returns the keys of hashes, and the names of semaphores with
  taken permits. A cursor is valid only at one server, which its run id identifies: a server that was not asked before starts from
  the beginning.

  ARGV[1]  count  about how many keys to scan
  then for each server that was asked before:
    runId
    cursor  "0": all its keys have been scanned

  Returns  { runId, cursor, { key, … }, unreadable }
           Names of more than 4,096 bytes are left out. So are names that are not UTF-8, because clients that read text
           cannot receive them unchanged; unreadable is the number of names that are not UTF-8
           runId is "" if INFO is not allowed
  Compat   Only reads. Declares no key, so each master of a cluster must be asked. Other calls, which declare the found keys, read
           their content.
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
  return { run_id, "0", {}, 0 }
end

-- How many bytes follow the first byte of a character; nil if invalid. For some first bytes the second byte has narrower
-- bounds.
local function follows(lead, second)
  if lead < 194 or lead > 244 then
    return nil
  elseif lead < 224 then
    return 1
  elseif lead < 240 then
    local is_valid = not (lead == 224 and second < 160) and not (lead == 237 and second > 159)
    return is_valid and 2 or nil
  end
  local is_valid = not (lead == 240 and second < 144) and not (lead == 244 and second > 143)
  return is_valid and 3 or nil
end

local function is_utf8(text)
  local at = string.find(text, "[\128-\255]")
  while at do
    local more = follows(string.byte(text, at), string.byte(text, at + 1) or 0)
    local found, last = string.find(text, "^[\128-\191]+", at + 1)
    if not more or not found or last - found + 1 ~= more then
      return false
    end
    at = string.find(text, "[\128-\255]", last + 1)
  end
  return true
end

local keys, unreadable = {}, 0
local function add(key)
  if not is_utf8(key) then
    unreadable = unreadable + 1
  elseif #key <= LONGEST_NAME then
    keys[#keys + 1] = key
  end
end

-- Both scans use one cursor, so they visit the same keys.
local hashes = redis.call("SCAN", cursor or "0", "TYPE", "hash", "COUNT", count)
local leases = redis.call("SCAN", cursor or "0", "TYPE", "zset", "MATCH", "*:timeout", "COUNT", count)
for _, key in ipairs(hashes[2]) do
  add(key)
end
for _, key in ipairs(leases[2]) do
  -- The names `a` and `{a}` have the same leases key.
  local raw = string.sub(key, 1, -#":timeout" - 1)
  if string.find(raw, "{", 1, true) then
    add(raw)
  end
  local inner = string.match(raw, "^{([^{}]+)}$")
  if inner then
    add(inner)
  end
end
return { run_id, hashes[1], keys, unreadable }
