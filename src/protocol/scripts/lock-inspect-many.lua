--[[
  lock-inspect-many: what is stored about some locks that were found. A key need not be a lock: a hash without holders, or with
  more fields than any lock has, is not read as a whole.

  KEYS  for each lock:
    lock   hash, holder -> hold count, and "mode" on a read-write lock
    queue  list of waiting holders (fair lock)
    token  string, the fencing counter (fenced lock)

  Returns  { serverMs, { type, ttlMs, { field, value, … }, { waiter, … }, token or nil }, … }
           as lock-inspect answers, but type is "foreign" for a hash that is no lock
  Compat   Reads only.
]]
--@include now-ms
local MOST_FIELDS = 10000

-- A client id has 36 characters.
local function is_holder(field)
  local thread = string.sub(field, 37)
  return string.find(string.sub(field, 1, 36), "^[0-9a-f-]+$")
    and (string.find(thread, "^:%d+$") or string.find(thread, "^:%d+:write$"))
end

-- Of two fields of a lock one at least is a holder: the other may be "mode".
local function is_lock(key)
  if redis.call("HLEN", key) > MOST_FIELDS then
    return false
  end
  for _, field in ipairs(redis.call("HRANDFIELD", key, "2")) do
    if is_holder(field) then
      return true
    end
  end
  return false
end

local answer = { now_ms }
for at = 1, #KEYS, 3 do
  local lock, queue, token = KEYS[at], KEYS[at + 1], KEYS[at + 2]
  local kind, fields = redis.call("TYPE", lock).ok, {}
  if kind == "hash" and is_lock(lock) then
    fields = redis.call("HGETALL", lock)
  elseif kind == "hash" then
    kind = "foreign"
  end
  local has_queue = redis.call("TYPE", queue).ok == "list"
  local has_token = redis.call("TYPE", token).ok == "string"
  answer[#answer + 1] = {
    kind,
    redis.call("PTTL", lock),
    fields,
    has_queue and redis.call("LRANGE", queue, "0", "-1") or {},
    has_token and redis.call("GET", token),
  }
end
return answer
