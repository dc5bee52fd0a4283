--[[
  request: how a call that changes a value without an owner has its effect once, however often it arrives. For each such
  value a client keeps a hash with a field for each of its requests, "<status>:<number>": what was answered. A repeat is
  answered the same. A request is { requests, id, not_after_ms, memory_ms, settled }.
]]
--@include now-ms

local function milliseconds(number)
  return string.format("%.0f", number)
end

local function foreign_type(key, kind)
  local found = redis.call("TYPE", key).ok
  return found ~= "none" and found ~= kind and found or nil
end

local function count_of(key)
  local stored = redis.call("GET", key)
  local count = stored and tonumber(stored)
  -- Only what Redis itself would have written, and Lua can hold, is a count.
  local exact = count and math.abs(count) < 2 ^ 53 and string.format("%.0f", count + 0) == stored
  return exact and count or nil
end

local function foreign_count(key)
  return foreign_type(key, "string") or redis.call("EXISTS", key) == 1 and not count_of(key) and "string" or nil
end

local function answer_of(request)
  local record = redis.call("HGET", request.requests, request.id)
  if not record then
    return nil
  end
  local status, number = string.match(record, "^([%a-]+):(-?%d+)$")
  return { status, number }
end

local function forget_settled(request)
  for id in string.gmatch(request.settled, "%d+") do
    redis.call("HDEL", request.requests, id)
  end
end

local function even_when_full(request)
  -- A full server adds nothing unless the script has written before.
  redis.call("PEXPIRE", request.requests, request.memory_ms)
end

local function record(request, status, number)
  local answer = { status, string.format("%.0f", number) }
  -- Also where nothing was done: a late copy of the request may find another state and would then act.
  even_when_full(request)
  redis.call("HSET", request.requests, request.id, answer[1] .. ":" .. answer[2])
  redis.call("PEXPIRE", request.requests, request.memory_ms)
  return answer
end

local function once(request, foreign, decide)
  if now_ms > tonumber(request.not_after_ms) then
    return { "late" }
  end
  local found = foreign or foreign_type(request.requests, "hash")
  if found then
    return { "wrong-type", found }
  end
  local answer = answer_of(request)
  if answer then
    -- WAIT counts only writes of its own connection: on a new connection this write may be the only one.
    even_when_full(request)
  else
    answer = decide()
  end
  forget_settled(request)
  return answer
end
