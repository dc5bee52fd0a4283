--[[
  saved-permits: permits that are saved up for one waiter of holdfast that needs several at once and has waited for long.
  The key has the owner, the number and the start: "<owner>:<permits>:<epoch milliseconds>". When the saving has ended, for any
  reason, the key becomes "-:0:…": nothing is saved up for as long as the saving took, and for at least a second.
]]
local function saved_for(saved)
  local record = redis.call("GET", saved)
  if not record then
    return nil, 0
  end
  local owner, permits, since_ms = string.match(record, "^(.+):(%d+):(%d+)$")
  return owner, tonumber(permits) or 0, tonumber(since_ms) or now_ms
end

local function write_saved(saved, owner, permits, since_ms, ttl_ms)
  redis.pcall("SET", saved, owner .. ":" .. permits .. ":" .. milliseconds(since_ms), "PX", ttl_ms)
end

local function saved_for_others(saved, owner)
  local other, permits = saved_for(saved)
  return other ~= owner and permits or 0
end

local function save_up(saved, owner, permits, save_ms)
  local other, _, since_ms = saved_for(saved)
  if save_ms ~= "0" and (not other or other == owner) then
    write_saved(saved, owner, permits, other and since_ms or now_ms, save_ms)
  end
  return saved_for(saved) == owner and 1 or 0
end

local function save_no_more(saved, owner)
  local other, _, since_ms = saved_for(saved)
  if other ~= owner then
    return false
  end
  redis.call("DEL", saved)
  write_saved(saved, "-", "0", now_ms, milliseconds(math.max(now_ms - since_ms, 1000)))
  return true
end
