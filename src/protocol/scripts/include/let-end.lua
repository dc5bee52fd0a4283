--[[
  let-end: gives a lock that a call has just written its end, or takes back what was written. Redis takes nothing back by itself
  when it refuses a command in the middle of a script, and a lock without a TTL stands for ever.
  From Redis 7.0 on the server tells whether its user may run a command. It is asked before a lock is written, as it might
  refuse what takes that back as well.
]]
local function is_forbidden(command, key)
  return redis.acl_check_cmd and not redis.acl_check_cmd(command, key, "1")
end

-- A PEXPIRE would be a write, and after a write a full server refuses nothing: so it is sent only when it is refused, to fail the call.
local function demand_end(key, ttl_ms)
  if is_forbidden("PEXPIRE", key) then
    redis.call("PEXPIRE", key, ttl_ms)
  end
end

-- count: the holder's hold count before; nil: it had no field. is_new: the key was not there.
local function let_end(lock, ttl_ms, holder, count, is_new)
  if type(redis.pcall("PEXPIRE", lock, ttl_ms)) ~= "table" then
    return
  end
  if count then
    redis.call("HSET", lock, holder, count)
  elseif not is_new or type(redis.pcall("DEL", lock)) == "table" then
    redis.call("HDEL", lock, holder)
  end
  -- Fails the call with the server's refusal.
  redis.call("PEXPIRE", lock, ttl_ms)
end
