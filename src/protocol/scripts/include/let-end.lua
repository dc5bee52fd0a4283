--[[
  let-end: set the TTL of a lock that the call has just written; if the server refuses the TTL, undo the write. Redis itself undoes nothing
  when it refuses a command in the middle of a script, and a lock without a TTL would stay for ever.
  From Redis 7.0 on, the server tells whether its user may run a command. This is checked before a lock is written, because the
  user might also lack the right to undo the write.
]]
local function is_forbidden(command, key)
  return redis.acl_check_cmd and not redis.acl_check_cmd(command, key, "1")
end

-- Sends PEXPIRE only when it is forbidden, to make the call fail with that refusal. Otherwise PEXPIRE would be a write, and after a
-- write a full server refuses nothing more.
local function demand_end(key, ttl_ms)
  if is_forbidden("PEXPIRE", key) then
    redis.call("PEXPIRE", key, ttl_ms)
  end
end

-- count: the holder's earlier hold count; nil: it had no field. is_new: the key did not exist.
local function let_end(lock, ttl_ms, holder, count, is_new)
  if type(redis.pcall("PEXPIRE", lock, ttl_ms)) ~= "table" then
    return
  end
  if count then
    redis.call("HSET", lock, holder, count)
  elseif not is_new or type(redis.pcall("DEL", lock)) == "table" then
    redis.call("HDEL", lock, holder)
  end
  -- Repeats the refused command, so that the call fails with the server's refusal.
  redis.call("PEXPIRE", lock, ttl_ms)
end
