--[[
  permits-out: read the state of a semaphore for tools. Any program may have written this state: a string that is not a count may have any
  length, and a member that does not have the length of an id is not a permit.
]]
-- As in leased-permits: the lease end of a permanent permit.
local PERMANENT = 922337203685477
local LONGEST_COUNT, ID_BYTES = 17, 16

local function digit(value)
  return string.sub("0123456789abcdef", value + 1, value + 1)
end

local function hex(id)
  local digits = string.gsub(id, ".", function(byte)
    local value = string.byte(byte)
    local high = math.floor(value / 16)
    return digit(high) .. digit(value - 16 * high)
  end)
  return digits
end

-- Like count_of of request.lua, but does not read a long string.
local function short_count_of(key)
  local length = redis.pcall("STRLEN", key)
  -- If the user may not use STRLEN, the length is unknown.
  local is_short = type(length) ~= "number" or length <= LONGEST_COUNT
  local stored = is_short and redis.call("GET", key)
  local number = stored and tonumber(stored)
  return number and math.abs(number) < 2 ^ 53 and string.format("%.0f", number + 0) == stored and number
end

local function count_between(leases, least, most)
  return redis.call("ZCOUNT", leases, least, most)
end

-- Turns a list of ids and scores into hexadecimal ids and milliseconds, without permits with expired leases.
local function taken_in(found)
  local taken = {}
  for at = 1, #found, 2 do
    local ends_ms = tonumber(found[at + 1]) or PERMANENT
    if #found[at] == ID_BYTES and ends_ms > now_ms then
      taken[#taken + 1] = hex(found[at])
      taken[#taken + 1] = ends_ms < PERMANENT and ends_ms - now_ms or -1
    end
  end
  return taken
end
