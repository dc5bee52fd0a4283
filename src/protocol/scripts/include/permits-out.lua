--[[
  permits-out: what a tool reads of a semaphore. Any program may have written it: a string that is no count may be of any
  length, and members that are not as long as an id are no permits.
]]
-- As in leased-permits: the end of the lease of a permanent permit.
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

-- As count_of of request.lua.
local function short_count_of(key)
  local length = redis.pcall("STRLEN", key)
  -- A user without the right to STRLEN is not told how long it is.
  local is_short = type(length) ~= "number" or length <= LONGEST_COUNT
  local stored = is_short and redis.call("GET", key)
  local number = stored and tonumber(stored)
  return number and math.abs(number) < 2 ^ 53 and string.format("%.0f", number + 0) == stored and number
end

local function count_between(leases, least, most)
  return redis.call("ZCOUNT", leases, least, most)
end

-- A list of ids and scores as a list of digits and milliseconds; of permits whose leases are not over.
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
