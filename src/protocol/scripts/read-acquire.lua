--[[
  read-acquire: take read locks, re-enter them, or answer which holder excludes the caller and for how long.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    hold         string, the key of the hold to take
    mark         string, the waiting writer
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      together     1: all locks or none; 0: each lock separately
  ARGV[3]      fair         1: a new reader gives way to a waiting writer
  then for each lock:
    holder     "<client id>:<thread id>"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition
    kin        another field of the caller in this lock: while it exists, the reader may enter beside the writer; empty for none

  Returns  { serverMs, answer, … } with one answer per lock, as lock-acquire. { "lost" } also if kin is gone.
  Compat   Redisson RedissonReadLock.tryLockInnerAsync stores the same. The write field is not derived from the holder,
           because only the caller knows the names of its own fields. A repeat writes the key of the hold again, and never
           shortens its TTL.
]]
--@include now-ms
--@include let-end
--@include read-write-look
--@include any-holder
--@include refused
local not_after_ms, together, fair = tonumber(ARGV[1]), ARGV[2] == "1", ARGV[3] == "1"

local function entry_obstacle(lock, kind, kin, mark)
  local mode = kind == "hash" and mode_of(lock)
  if kin ~= "" then
    if redis.call("HEXISTS", lock, kin) == 1 then
      return nil
    end
    return { "lost" }
  end
  if kind == "hash" and mode ~= "read" then
    return { "busy", redis.call("PTTL", lock), any_holder(lock) }
  end
  local writer = fair and redis.call("GET", mark)
  return writer and { "busy", redis.call("PTTL", mark), writer } or nil
end

local function obstacle(lock, mark, holder, held_count, kin)
  if now_ms > not_after_ms then
    return { "late" }
  end
  local kind = redis.call("TYPE", lock).ok
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local count = redis.call("HGET", lock, holder)
  if not count then
    if held_count > 0 then
      return { "lost" }
    end
    return entry_obstacle(lock, kind, kin, mark)
  end
  if tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  return nil, count
end

local function take(lock, hold, holder, lease_ms, held_count, count)
  local hold_ms, ttl_ms = tonumber(lease_ms), redis.call("PTTL", lock)
  if count and tonumber(count) > held_count then
    -- A late copy of this call may find that a later hold with a longer lease has the same key.
    hold_ms = math.max(hold_ms, redis.call("PTTL", hold))
  end
  demand_end(lock, lease_ms)
  local written = redis.pcall("SET", hold, "1", "PX", string.format("%.0f", hold_ms))
  if written.err then
    return refused(written.err)
  end
  if not mode_of(lock) then
    redis.call("HSET", lock, "mode", "read")
  end
  redis.call("HSET", lock, holder, string.format("%.0f", held_count + 1))
  if ttl_ms < tonumber(lease_ms) then
    let_end(lock, lease_ms, holder, count, ttl_ms == -2)
  end
  return { "held" }
end

local function answer_all(answer)
  local answers = { now_ms }
  for i = 1, #KEYS / 3 do
    local key, at = 3 * i - 2, 4 * i
    answers[i + 1] = answer(KEYS[key], KEYS[key + 1], KEYS[key + 2], at)
  end
  return answers
end

local function obstacle_at(lock, mark, at)
  return obstacle(lock, mark, ARGV[at], tonumber(ARGV[at + 2]), ARGV[at + 3])
end

local blocked = false
if together then
  answer_all(function(lock, _, mark, at)
    blocked = blocked or obstacle_at(lock, mark, at) ~= nil
  end)
end
return answer_all(function(lock, hold, mark, at)
  local answer, count = obstacle_at(lock, mark, at)
  if not answer and blocked then
    return { "free" }
  end
  return answer or take(lock, hold, ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), count)
end)
