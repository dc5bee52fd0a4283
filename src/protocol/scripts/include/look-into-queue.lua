--[[
  look-into-queue: what a release does with the queue of the clients that wait for its lock.
  The script has: lock, queue, holder, channel, way, as lock-release.
]]
--@include any-holder
--@include publish
--@include waiting
local client = client_of(holder)
local leaves, calls = string.sub(way, 1, 6) == "leaves", string.sub(way, 1, 5) == "calls"
local counts_all = string.sub(way, -4) == " all"

local function tell(other, message)
  return publish(channel .. ":" .. other, message)
end

-- Where the server refuses a write, the lock stays free: without its end it would stand for ever.
local function held_for(other)
  local field = next_field(other)
  local fields = of_writers and { "mode", "write", field, "1" } or { field, "1" }
  if type(redis.pcall("HSET", lock, unpack(fields))) ~= "number" then
    return false
  end
  if redis.pcall("PEXPIRE", lock, GIVEN_MS) ~= 1 then
    redis.pcall("HDEL", lock, field, "mode")
    return false
  end
  return true
end

-- The key was deleted, and its end with it, if that client stood there alone.
local function mark_given()
  redis.pcall("ZADD", queue, GIVEN_SCORE, GIVEN)
  redis.pcall("PEXPIRE", queue, QUEUE_MS)
end

-- To one that polls, which asks by itself.
local function give_to_claimant(claimant)
  redis.pcall("ZREM", queue, claimant)
  if not held_for(claimant) then
    return false
  end
  mark_given()
  local first = others_waiting(queue, client)[1]
  if first then
    tell(first, "next")
  end
  return true
end

-- Gives the lock to the next that waits, for a while, and tells it to take it. Every other release only tells it, and leaves the lock
-- to the fastest: those that stand in no queue get in between; and so does one after which the lock is not free. A client that nobody
-- has heard for is not there.
local function give(is_free)
  local leaves_it = not is_free or redis.pcall("ZREM", queue, GIVEN) == 1
  local claimant = not leaves_it and redis.pcall("ZRANGE", queue, CLAIMS, CLAIMS, "BYSCORE", "LIMIT", "0", "1")[1]
  if claimant and claimant ~= client then
    return give_to_claimant(claimant)
  end
  for _ = 1, MOST_GIVEN do
    local others = others_waiting(queue, client)
    if #others == 0 then
      return false
    end
    local first, second = others[1], others[2]
    if not leaves_it then
      redis.pcall("ZREM", queue, first)
    end
    if tell(first, "turn") > 0 or not counts_all then
      if not leaves_it then
        if not held_for(first) then
          return false
        end
        mark_given()
      end
      if second then
        tell(second, "next")
      end
      return not leaves_it
    end
    redis.pcall("ZREM", queue, first)
  end
  return false
end

-- is_freed: the holder had the lock; is_free: nobody has it now; has_it: tells whether the holder's client has it by another holder.
-- Answers "given" for a lock that was given to another client; "stands" for a client that stands on in the queue.
local function look_into_queue(is_freed, is_free, has_it)
  -- Others rely on a client that has the lock to look into the queue when it frees that, also where no call of it waits any more.
  local place, stands = leaves and place_of(queue, client), false
  if place and has_it() then
    redis.pcall("ZADD", queue, HAS_IT, client)
    place, stands = nil, true
  elseif place then
    redis.pcall("ZREM", queue, client)
  end
  -- The first of those that wait may have been told that the lock is free, or have to hear of a holder that does not look into the
  -- queue: a new first asks.
  if is_freed then
    return give(is_free) and "given"
  elseif calls or place and place > 0 then
    local following = others_waiting(queue, client)[1]
    if following and (calls or place_of(queue, following) > place) then
      tell(following, "turn")
    end
  end
  return stands and "stands"
end
