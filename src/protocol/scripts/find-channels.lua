--[[
  find-channels: list the channels of Redisson and holdfast that have listeners at this server, and count the listening connections.
  Lists only channels with the given prefixes and with names of at most 4,224 bytes.

  ARGV[1]  sharded  "1": also channels of sharded messages, if the server knows these
  then for each kind of channel:
    start   the prefix

  Returns  { channel, listeners, … }
  Compat   Only reads, and reads no keys. Each master of a cluster must be asked, because a server counts only its own connections.
]]
local sharded = ARGV[1]
-- Lua cannot unpack more values at once than fit on its stack.
local MOST_AT_ONCE = 1000
-- The longest lock name that is read, plus the rest of its channel's name, in bytes.
local LONGEST_CHANNEL = 4096 + 128

local function is_wanted(channel)
  if #channel > LONGEST_CHANNEL then
    return false
  end
  for at = 2, #ARGV do
    if string.sub(channel, 1, #ARGV[at]) == ARGV[at] then
      return true
    end
  end
  return false
end

local answer = {}
local function add(channels, count)
  local wanted = {}
  for _, channel in ipairs(channels) do
    if is_wanted(channel) then
      wanted[#wanted + 1] = channel
    end
  end
  for from = 1, #wanted, MOST_AT_ONCE do
    local upto = math.min(from + MOST_AT_ONCE - 1, #wanted)
    local counts = redis.call("PUBSUB", count, unpack(wanted, from, upto))
    for _, item in ipairs(counts) do
      answer[#answer + 1] = item
    end
  end
end

add(redis.call("PUBSUB", "CHANNELS", "redisson_*"), "NUMSUB")
if sharded == "1" then
  local channels = redis.pcall("PUBSUB", "SHARDCHANNELS", "redisson_*")
  if not channels.err then
    add(channels, "SHARDNUMSUB")
  -- Redis 6.2 writes "Unknown" with a capital.
  elseif not string.find(channels.err, "nknown subcommand", 1, true) then
    return channels
  end
end
return answer
