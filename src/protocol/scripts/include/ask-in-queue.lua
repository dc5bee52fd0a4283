--[[
  ask-in-queue: how a waiting client asks for a lock: the client takes the lock if it was granted to this client, and stays in the queue
  until it has the lock. The script defines: lock, queue, holder, channel, as lock-acquire; waits_on, whether the client keeps waiting for
  its other calls when it gets the lock; polls, whether the client polls and gets no message about its turn.
]]
--@include waiting
--@include publish
local client = client_of(holder)

-- Checks the field first: any HDEL counts as a write, and after a write a full server no longer refuses the acquisition.
local function take_given(is_in_time)
  if is_in_time and redis.pcall("HEXISTS", lock, next_field(client)) == 1 then
    redis.pcall("HDEL", lock, next_field(client), "mode")
  end
end

local function last_place()
  local last = redis.pcall("ZRANGE", queue, "-1", "-1", "WITHSCORES")
  return math.max(0, tonumber(last[2] or 0))
end

-- Returns whether the client is in the queue.
local function stands_at(place)
  local added = redis.pcall("ZADD", queue, place, client)
  if redis.pcall("PEXPIRE", queue, QUEUE_MS) ~= 1 then
    redis.pcall("ZREM", queue, client)
    return false
  end
  return type(added) == "number"
end

-- Puts the client at the end of the queue. Returns `stands`, with the meaning that it has in lock-acquire.
local function to_the_end()
  return stands_at(string.format("%.0f", last_place() + 1)) and 2 or 0
end

-- A polling client takes a place, or claims the next grant of the lock if no waiting client came before it. Returns whether it claims.
local function claims_it(score, first)
  local place = score and -score - POLLS or last_place() + 1
  if not first or place_of(queue, first) >= place then
    return stands_at(CLAIMS)
  elseif not score then
    stands_at(string.format("%.0f", -place - POLLS))
  end
  return false
end

local function entered(token)
  local others = others_waiting(queue, client)
  local stands = 0
  if #others > 0 and waits_on then
    redis.pcall("ZREM", queue, client)
    stands = to_the_end()
  elseif #others > 0 or place_of(queue, GIVEN) then
    -- The client also stays in the queue if only the mark `given` is there, so that its release removes the mark.
    stands = type(redis.pcall("ZADD", queue, HAS_IT, client)) == "number" and 1 or 0
  else
    redis.pcall("ZREM", queue, client)
  end
  return { "held", token, stands }
end

-- A client that has the lock notifies its own waiting calls, so it needs no place unless other clients wait too. owner: the client
-- whose release may look into the queue; "": no release of the holder looks there.
local function refused_to(ttl_ms, found, owner)
  local place, others = place_of(queue, client), others_waiting(queue, client)
  local stands = place and (place > 0 and 2 or 1) or 0
  local is_new = stands < 2 and (owner ~= client or #others > 0)
  local may_claim = polls and is_new
  if may_claim then
    local is_claimed = place == tonumber(CLAIMS)
    is_new = not place
    if not is_claimed then
      is_claimed = claims_it(place and place < -POLLS and place, others[1])
    end
    stands, place = place_of(queue, client) and 1 or 0, is_claimed and 0 or 1 / 0
  elseif is_new then
    stands = to_the_end()
    place = stands == 2 and place_of(queue, client)
  elseif place then
    redis.pcall("PEXPIRE", queue, QUEUE_MS)
  end
  local ahead = 0
  for i = 1, #others do
    if place and place_of(queue, others[i]) < place then
      ahead = ahead + 1
    end
  end
  local is_told = (found == next_field(owner) or place_of(queue, owner)) and 1 or 0
  -- Tells the holder's client, which may have waiting calls of its own, that another client waits now: then the holder's release looks
  -- into the queue. A JVM does not listen for this message.
  if is_new and is_told == 0 and #others == 0 and string.sub(owner, 15, 18) == "8001" then
    publish(channel .. ":" .. owner, "look")
  end
  return { "busy", ttl_ms, found, stands, ahead, is_told }
end
