--[[
  request: let a call that changes a value without an owner take effect once, however many times the call arrives. For each such value,
  a client has a hash of answers, with a field "<status>:<number>" for each of its requests. A repeat gets the stored answer.
  A request is { requests, id, not_after_ms, memory_ms, settled }.
  Redis undoes nothing when it refuses a command in the middle of a script, for example for a missing right. So a script records the
  answer first, and replaces it by "undone" if the effect is refused; or it makes the change first, and takes it back by the same
  command if the answer cannot be recorded.
]]
--@include now-ms
local UNDONE = "undone:0"

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
  -- Only a number that Redis itself would have written, and that Lua can represent, is a count.
  local exact = count and math.abs(count) < 2 ^ 53 and string.format("%.0f", count + 0) == stored
  return exact and count or nil
end

local function foreign_count(key)
  return foreign_type(key, "string") or redis.call("EXISTS", key) == 1 and not count_of(key) and "string" or nil
end

local function answer_of(request)
  local record = redis.call("HGET", request.requests, request.id)
  if not record or record == UNDONE then
    return nil
  end
  request.before = record
  local status, number = string.match(record, "^([%a-]+):(-?%d+)$")
  return { status, number }
end

-- If the server refuses to delete an answer, the answer expires with the hash.
local function forget_settled(request)
  for id in string.gmatch(request.settled, "%d+") do
    redis.pcall("HDEL", request.requests, id)
  end
end

local function even_when_full(request)
  -- This write comes first, because a full server refuses to add data unless the script has already written.
  redis.call("PEXPIRE", request.requests, request.memory_ms)
end

local function was_refused(reply)
  return type(reply) == "table" and reply.err ~= nil
end

-- Records an answer. Returns nil if the server refuses to store it.
local function try_record(request, status, number)
  local answer = { status, string.format("%.0f", number) }
  local text = answer[1] .. ":" .. answer[2]
  if
    was_refused(redis.pcall("PEXPIRE", request.requests, request.memory_ms))
    or was_refused(redis.pcall("HSET", request.requests, request.id, text))
  then
    return nil
  end
  redis.call("PEXPIRE", request.requests, request.memory_ms)
  return answer
end

-- Also records an answer that says that nothing was done: otherwise a late copy of the request might find another state, and have an
-- effect.
local function record(request, status, number)
  -- If the server refuses to store the answer, repeats the commands, so that the call fails with the server's error.
  return try_record(request, status, number)
    or redis.call("PEXPIRE", request.requests, request.memory_ms)
      and redis.call("HSET", request.requests, request.id, UNDONE)
end

-- Whether the server has refused the effect of a recorded request. If so, the request counts as not arrived.
local function is_undone(request, reply)
  if not was_refused(reply) then
    return false
  end
  redis.call("HSET", request.requests, request.id, request.before or UNDONE)
  return true
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
    -- WAIT counts only writes of its own connection: on a new connection this write may be the only write.
    even_when_full(request)
  else
    answer = decide()
  end
  forget_settled(request)
  return answer
end
