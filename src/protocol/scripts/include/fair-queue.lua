--[[
  fair-queue: which waiter is next for a fair lock, and how it gets the lock. A waiter of holdfast is granted the lock; a JVM's waiter
  is told to ask. A JVM's waiter listens on a channel of its own. All waiters of one client of holdfast share a channel, so that a
  client that waits again need not subscribe again; each message there begins with the thread id of the waiter.
]]
--@include publish
--@include fair-keys
-- How many waiters at the head are checked together for signs of life, and how many such checks one call makes. The next call
-- continues.
local HEADS_AT_ONCE, MOST_LOOKS = 100, 20

-- Removes the first waiters from the queue, before it changes the other scores: a full server accepts a write that adds data only after
-- a write that removes data.
local function forget_first(fair, first, now_ms, times)
  local last_ms = timeout_of(fair, first[#first])
  -- Trims the queue first: a waiter in the queue without a sign of life would be presumed alive.
  redis.call("LTRIM", fair.queue, #first, -1)
  redis.call("ZREM", fair.timeouts, unpack(first))
  redis.call("ZREM", fair.alive, unpack(first))
  queue_changed(fair)
  fair.top = nil
  local head = front_of(fair)[1]
  if head and last_ms and not is_ours(head) then
    bring_nearer(fair, 0, head, first[#first], last_ms, now_ms, times)
  end
end

-- Called when signs of life were lost: their key was deleted, or restored from older data. Gives many waiters at the head a new sign
-- together. If they got it one by one, each dead waiter would be granted the lock in turn.
local function presume_alive(fair, now_ms, times)
  local heads = redis.call("LRANGE", fair.queue, 0, HEADS_AT_ONCE - 1)
  local signs = redis.call("ZMSCORE", fair.alive, unpack(heads))
  for i = 1, #heads do
    if is_ours(heads[i]) and not signs[i] then
      sign_of_life(fair, heads[i], now_ms, times)
    end
  end
end

local function is_dead(fair, holder, timeout_ms, alive_ms, now_ms, times)
  if is_ours(holder) then
    if not alive_ms then
      presume_alive(fair, now_ms, times)
    end
    return alive_ms and tonumber(alive_ms) <= now_ms
  end
  if not timeout_ms then
    redis.pcall("ZADD", fair.timeouts, milliseconds(now_ms), holder)
    fair.top = nil
  end
  return timeout_ms and tonumber(timeout_ms) + times.grace_ms <= now_ms
end

local function forget_the_dead(fair, heads, now_ms, times)
  local timeouts = redis.call("ZMSCORE", fair.timeouts, unpack(heads))
  local signs = redis.call("ZMSCORE", fair.alive, unpack(heads))
  local dead = {}
  for i = 1, #heads do
    if not is_dead(fair, heads[i], timeouts[i], signs[i], now_ms, times) then
      break
    end
    dead[i] = heads[i]
  end
  if #dead > 0 then
    forget_first(fair, dead, now_ms, times)
  end
  return #dead == #heads
end

-- Returns nil when the queue is empty, and "" when there are so many dead waiters that the next call must continue.
local function next_in_line(fair, now_ms, times)
  local head = front_of(fair)[1]
  if not head then
    return nil
  end
  if is_ours(head) and fair.head_alive_ms and tonumber(fair.head_alive_ms) > now_ms then
    return head
  end
  local heads = { head }
  while fair.looks < MOST_LOOKS do
    fair.looks = fair.looks + 1
    if not forget_the_dead(fair, heads, now_ms, times) then
      fair.looks = fair.looks - 1
      return front_of(fair)[1]
    end
    heads = redis.call("LRANGE", fair.queue, 0, HEADS_AT_ONCE - 1)
    if #heads == 0 then
      return nil
    end
  end
  return ""
end

-- Also removes the score of a waiter that is no longer in the queue: the score would not expire, because other waiters keep the
-- key.
local function leave(fair, holder, found, now_ms, times)
  local place = found.place or redis.call("LPOS", fair.queue, holder)
  if place then
    redis.call("LREM", fair.queue, 1, holder)
  end
  redis.call("ZREM", fair.timeouts, holder)
  redis.call("ZREM", fair.alive, holder)
  fair.top = nil
  if not place then
    return
  end
  queue_changed(fair)
  fair.is_to_be_kept = true
  local behind = redis.call("LINDEX", fair.queue, place)
  if behind and found.timeout_ms and not is_ours(behind) then
    bring_nearer(fair, place, behind, holder, tonumber(found.timeout_ms), now_ms, times)
  end
end

-- Removes the head of the queue, which gets the lock. Returns false when the server refuses the removal.
local function leave_front(fair, now_ms, times)
  local head, second = front_of(fair)[1], front_of(fair)[2]
  local is_before_jvm = second and not is_ours(second)
  local timeout_ms = is_before_jvm and timeout_of(fair, head)
  if type(redis.pcall("LREM", fair.queue, 1, head)) == "table" then
    return false
  end
  -- If the server refuses to remove the score, the next call that finds more scores than waiters removes it.
  redis.pcall("ZREM", fair.timeouts, head)
  redis.pcall("ZREM", fair.alive, head)
  queue_changed(fair)
  fair.top = nil
  if is_before_jvm then
    fair.is_to_be_kept = true
    if timeout_ms then
      bring_nearer(fair, 0, second, head, timeout_ms, now_ms, times)
    end
  end
  return true
end

-- until_ms: the end of the grant to a waiter of holdfast; 0: the waiter should ask.
local function tell(fair, waiter, until_ms)
  if is_ours(waiter) then
    local client_id, thread_id = client_and_thread(waiter)
    publish(fair.channel .. ":" .. client_id, thread_id .. ":" .. milliseconds(until_ms))
  else
    publish(fair.channel .. ":" .. waiter, "0")
  end
end

local function pass_on(fair, now_ms, times)
  local head, until_ms = next_in_line(fair, now_ms, times), 0
  if not head or head == "" then
    return
  end
  if is_ours(head) and times.grant_ms > 0 then
    local grant_ms = milliseconds(times.grant_ms)
    -- The lock is free, so the first PEXPIRE has no effect. It only tests whether the server accepts an expiry for the grant.
    if
      type(redis.pcall("PEXPIRE", fair.lock, grant_ms)) == "table"
      or type(redis.pcall("HSET", fair.lock, head, "1")) == "table"
    then
      return
    end
    redis.call("PEXPIRE", fair.lock, grant_ms)
    lock_changed(fair)
    if not leave_front(fair, now_ms, times) then
      -- If the head stayed in the queue, it would be granted the lock again and again.
      redis.pcall("DEL", fair.lock)
      return
    end
    until_ms = now_ms + times.grant_ms
  else
    fair.is_to_be_kept = true
  end
  tell(fair, head, until_ms)
end
