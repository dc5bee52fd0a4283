--[[
  write-acquire: take write locks, re-enter them, or answer which holder excludes the caller and for how long. A client that waits for
  one write lock stays in the lock's queue until it has the lock.

  KEYS, for each lock:
    lock         hash, "mode" -> "read" or "write", holder -> hold count
    mark         string, the waiting writer
  KEYS[3]        queue: only for a client that waits for one lock; sorted set, client id -> place
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      together     1: all locks or none; 0: each lock separately
  ARGV[3]      markMs       integer, how long a waiting writer keeps readers away; 0: not at all
  then for each lock:
    holder     "<client id>:<thread id>:write"
    leaseMs    integer > 0, milliseconds
    heldCount  integer >= 0, the holder's hold count before this acquisition
    waits      1: a refused writer waits, and leaves its mark
  then, with a queue: waitsOn and channel, as lock-acquire

  Returns  { serverMs, answer, … } with one answer per lock, as lock-acquire; with a queue, as lock-acquire with "queued"
  Compat   Redisson RedissonWriteLock.tryLockInnerAsync stores the same; a re-entry raises the TTL, while Redisson adds
           the lease to it. Redisson has no mark.
]]
--@include now-ms
--@include let-end
--@include read-write-look
--@include any-holder
--@include refused
local not_after_ms, together, mark_ms = tonumber(ARGV[1]), ARGV[2] == "1", ARGV[3]

local function obstacle(lock, holder, held_count)
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
    return kind == "hash" and { "busy", redis.call("PTTL", lock), any_holder(lock) } or nil
  end
  if tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  return nil, count
end

local function take(lock, mark, holder, lease_ms, held_count, count)
  -- Reads the mark before any write, because this read fails if the mark has another type.
  local waiting, ttl_ms = redis.call("GET", mark), redis.call("PTTL", lock)
  demand_end(lock, lease_ms)
  local written = redis.pcall("HSET", lock, "mode", "write", holder, string.format("%.0f", held_count + 1))
  if type(written) == "table" then
    return refused(written.err)
  end
  if ttl_ms < tonumber(lease_ms) then
    let_end(lock, lease_ms, holder, count, ttl_ms == -2)
  end
  if waiting == holder then
    -- If the deletion is refused, the mark keeps readers away until its TTL ends.
    redis.pcall("DEL", mark)
  end
  return { "held" }
end

local function answer_all(answer)
  local answers = { now_ms }
  for i = 1, #KEYS / 2 do
    local key, at = 2 * i - 1, 4 * i
    answers[i + 1] = answer(KEYS[key], KEYS[key + 1], at)
  end
  return answers
end

local function obstacle_at(lock, at)
  return obstacle(lock, ARGV[at], tonumber(ARGV[at + 2]))
end

local blocked = false
if together then
  answer_all(function(lock, _, at)
    blocked = blocked or obstacle_at(lock, at) ~= nil
  end)
end

local function answer_for(lock, mark, at)
  local answer, count = obstacle_at(lock, at)
  if answer and answer[1] == "busy" and mark_ms ~= "0" and ARGV[at + 3] == "1" then
    redis.pcall("SET", mark, ARGV[at], "PX", mark_ms)
  end
  if not answer and blocked then
    return { "free" }
  end
  return answer or take(lock, mark, ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2]), count)
end

if #KEYS ~= 3 then
  return answer_all(answer_for)
end
return answer_all(function(lock, mark, at)
  local of_writers, polls, queue, holder, waits_on, channel = true, false, KEYS[3], ARGV[at], ARGV[at + 4] == "1", ARGV[at + 5]
  --@include ask-in-queue
  take_given(now_ms <= not_after_ms)
  local answer = answer_for(lock, mark, at)
  if answer[1] == "held" then
    return entered("")
  elseif answer[1] == "busy" then
    -- A reader, or a holder of a lock of another kind, frees the lock without a look into the queue.
    return refused_to(answer[2], answer[3], mode_of(lock) == "write" and client_of(answer[3]) or "")
  end
  return answer
end)
