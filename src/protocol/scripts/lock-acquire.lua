--[[
  lock-acquire: take locks, re-enter them, or answer their holders and TTLs. A client that waits for one lock stays in the lock's
  queue until it has the lock.

  KEYS[i]      lock         hash, holder -> hold count; one for each lock, then
  KEYS[n + j]  token        string, the fencing counter of lock n - m + j, where the last m of the n locks have counters
  KEYS[last]   queue        "queued" only: sorted set, client id -> place
  ARGV[1]      notAfterMs   epoch milliseconds on the server's clock; later the call changes nothing
  ARGV[2]      leaseMs      integer > 0, milliseconds
  ARGV[3]      heldCount    integer >= 0, the holders' hold count before this acquisition; each lock has its own answer.
                            "together": as 0, but takes all locks or none
                            "queued": as 0, for one lock that the client waits for; also takes the lock if granted to the client
  ARGV[3 + i]  holder       "<client id>:<thread id>"
  ARGV[5]      waitsOn      "queued" only: "1" if the client keeps waiting for its other calls when it gets the lock; "polls" if the
                            client polls, and gets no message about its turn
  ARGV[6]      channel      "queued" only: channel of the waiters; a client's own channel appends the client id

  Returns  serverMs                     all locks were free and are now taken, and none has a counter
           { serverMs, answer, … } with one answer per lock, in all other cases:
           "held"                       taken or re-entered, by this call or by an earlier copy of it
           { "held", token }            as "held", with the fencing token as text
           "free"                       together only: this lock was free, but another was not, so none was taken
           { "busy", ttlMs, holder }    another holder has it; ttlMs is -1 without a TTL
           { "held", token, stands }    queued only; token is "" for a lock without a counter
           { "busy", ttlMs, holder, stands, ahead, isTold }
                                        queued only. stands: 2 if the client waits in the queue; 1 if it is in the queue without
                                        waiting for a turn; 0 if it is not there. ahead: how many others wait before it, at most 2;
                                        for a polling client, 0 if the next release grants it the lock. isTold: 1 if the holder will
                                        look into the queue when it releases
           "late"                       notAfterMs has passed
           "lost"                       heldCount > 0, but the lock has no field for the holder
           { "wrong-type", type }       the lock or its counter has another type, or the counter is not a number
           { "miscounted", holdCount }  the count is neither heldCount nor heldCount + 1
           { "refused", message }       the server refused the write
  Compat   Redisson RedissonLock.tryLockInnerAsync and RedissonFencedLock store the same. The script writes the count
           instead of incrementing it, so that a repeat does no harm and takes no token. A re-entry never lowers the TTL. The token
           is read by GET, because a number in Lua would lose digits; its counter never has a TTL. For a free lock, PTTL is the only
           read, and the usual answer is a number: a list costs the server and the client several microseconds.
]]
--@include now-ms
local not_after_ms, lease_ms, count_before = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local queue = count_before == "queued" and KEYS[#KEYS]
local lock_count = queue and 1 or #ARGV - 3
local unfenced = 2 * lock_count - #KEYS + (queue and 1 or 0)

-- Takes free locks, up to the first that is not free. Most calls need no more than this, so the functions for all other cases are
-- created later.
local taken, seen_ttl_ms, may_run = 0, nil, redis.acl_check_cmd
if count_before == "0" and now_ms <= not_after_ms then
  for i = 1, unfenced do
    local lock = KEYS[i]
    seen_ttl_ms = redis.call("PTTL", lock)
    -- If the server refuses a write here, the code below tries it again: that code reports the refusal, and leaves no lock without a
    -- TTL.
    if
      seen_ttl_ms ~= -2
      or may_run and not may_run("PEXPIRE", lock, lease_ms)
      or redis.pcall("HSET", lock, ARGV[i + 3], "1") ~= 1
      or redis.pcall("PEXPIRE", lock, lease_ms) ~= 1
    then
      break
    end
    taken, seen_ttl_ms = i, nil
  end
end
if taken == lock_count then
  return now_ms
end

--@include let-end
--@include raise-ttl
--@include any-holder
--@include refused
local is_together = count_before == "together"
local held_count = (is_together or queue) and 0 or tonumber(count_before)
local new_count = string.format("%.0f", held_count + 1)

local function type_of(key)
  return redis.call("TYPE", key).ok
end

local function look(lock, holder, token, known_ttl_ms)
  if now_ms > not_after_ms then
    return "late"
  end
  local ttl_ms = known_ttl_ms or redis.call("PTTL", lock)
  local kind = ttl_ms ~= -2 and type_of(lock) or "none"
  if kind ~= "none" and kind ~= "hash" then
    return { "wrong-type", kind }
  end
  local token_kind = token and type_of(token) or "none"
  if token_kind ~= "none" and token_kind ~= "string" then
    return { "wrong-type", token_kind }
  end
  local count = kind == "hash" and redis.call("HGET", lock, holder)
  if not count then
    if held_count > 0 then
      return "lost"
    end
    if kind == "hash" then
      return { "busy", ttl_ms, any_holder(lock) }
    end
  elseif tonumber(count) ~= held_count and tonumber(count) ~= held_count + 1 then
    return { "miscounted", count }
  end
  return nil, count, ttl_ms
end

-- Draws and reads the token before the lock is written. If the server then refuses to write the lock, the token is skipped.
local function draw(token)
  local drawn = redis.pcall("INCR", token)
  if type(drawn) ~= "table" then
    redis.call("PERSIST", token)
  end
  return redis.call("GET", token), type(drawn) == "table" and drawn or nil
end

local function take(lock, holder, token, count, ttl_ms)
  -- An earlier copy of this call has written the count, and a full server would refuse to write it again.
  local is_repeat = count == new_count
  if is_repeat then
    raise_ttl(lock, lease_ms, true)
    return token and { "held", redis.call("GET", token) or "0" } or "held"
  end
  demand_end(lock, lease_ms)
  local number, failure
  if token then
    number, failure = draw(token)
  end
  failure = failure or redis.pcall("HSET", lock, holder, new_count)
  if type(failure) == "table" then
    return number and not tonumber(number) and { "wrong-type", "string" } or refused(failure.err)
  end
  if ttl_ms < tonumber(lease_ms) then
    let_end(lock, lease_ms, holder, count, ttl_ms == -2)
  end
  return token and { "held", number } or "held"
end

local function parts(i)
  return KEYS[i], ARGV[i + 3], i > unfenced and KEYS[lock_count + i - unfenced]
end

local blocked = false
for i = 1, is_together and lock_count or 0 do
  blocked = blocked or look(parts(i)) ~= nil
end

local function answer_for(i, ttl_ms)
  local lock, holder, token = parts(i)
  local answer, count, known_ttl_ms = look(lock, holder, token, ttl_ms)
  if not answer and blocked then
    return "free"
  end
  return answer or take(lock, holder, token, count or nil, known_ttl_ms)
end

if not queue then
  local answers = { now_ms }
  for i = 1, lock_count do
    answers[i + 1] = i <= taken and "held" or answer_for(i, i == taken + 1 and seen_ttl_ms or nil)
  end
  return answers
end

local of_writers = false
local lock, holder = parts(1)
local waits_on, polls, channel = ARGV[5] == "1", ARGV[5] == "polls", ARGV[6]
--@include ask-in-queue
take_given(now_ms <= not_after_ms)
local answer = answer_for(1)
local status = type(answer) == "table" and answer[1] or answer
if status == "held" then
  answer = entered(type(answer) == "table" and answer[2] or "")
elseif status == "busy" then
  answer = refused_to(answer[2], answer[3], client_of(answer[3]))
end
return { now_ms, answer }
