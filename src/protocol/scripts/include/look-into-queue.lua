--[[
  look-into-queue: how a release looks into the queue of the clients that wait for its lock.
  The script defines: lock, queue, holder, channel, way, as lock-release.
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

-- If the server refuses one of the two writes, the lock stays free: a grant without a TTL would stay for ever.
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

-- If the client that gets the lock was alone in the queue, its removal has deleted the key with its TTL, so the TTL is set again.
local function mark_given()
  redis.pcall("ZADD", queue, GIVEN_SCORE, GIVEN)
  redis.pcall("PEXPIRE", queue, QUEUE_MS)
end

-- Grants the lock to a polling client, which asks without being told.
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

-- Grants the lock to the next waiting client for a while, and tells that client to take it. Every second release grants nothing: it
-- tells the client to ask, and leaves the lock to the fastest client, so that clients outside the queue can also acquire it. A release
-- after which the lock is not free also grants nothing. A client whose channel has no listener counts as absent, and is removed.
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

-- is_freed: the holder had the lock; is_free: the lock is free now; has_it(): whether the holder's client has the lock through another
-- holder. Returns "given" if the lock was granted to another client; "stands" if the client stays in the queue.
local function look_into_queue(is_freed, is_free, has_it)
  -- A client must look into the queue when it frees the lock, even if none of its own calls waits: other clients
  -- rely on that.
  local place, stands = leaves and place_of(queue, client), false
  if place and has_it() then
    redis.pcall("ZADD", queue, HAS_IT, client)
    place, stands = nil, true
  elseif place then
    redis.pcall("ZREM", queue, client)
  end
  -- The first waiting client asks when a message says that the lock is free. It also watches a holder whose release does not look into
  -- the queue, such as a JVM. If the first waiting client leaves, the next one must do both instead.
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
