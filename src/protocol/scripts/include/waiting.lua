--[[
  waiting: the queue of the clients that wait for a lock: a sorted set of client ids by place, a number from 1 on. A client that has the
  lock and does not wait has the score HAS_IT. Every client in the queue looks into the queue when it frees the lock. The member "given"
  marks that the latest release has granted the lock; no client id looks like it. A polling client gets no message about its turn, so it
  does not count as waiting: its score is below -POLLS, and becomes CLAIMS once all clients that came before it have had their turn.
  If the user has no rights to the key, or the key has another type, the queue counts as empty.
  The script defines: of_writers, whether these clients wait for the write lock of a read-write lock.
]]
local HAS_IT, GIVEN, GIVEN_SCORE = "-1", "given", "-2"
local CLAIMS, POLLS = "-3", 10
-- How long a lock is granted to a client: if the client has not taken the lock by then, others may.
local GIVEN_MS = "1500"
-- How many absent clients one call removes at most.
local MOST_GIVEN = 100

-- The queue expires this long after a waiting client has last asked. Each client asks far more often.
local QUEUE_MS = "600000"

-- Client ids are UUIDs.
local function client_of(holder)
  return string.sub(holder, 1, 36)
end

local function place_of(queue, client)
  local score = redis.pcall("ZSCORE", queue, client)
  return type(score) == "string" and tonumber(score) or nil
end

-- The field of a lock that is granted to a client but not taken yet; a read-write lock also has its mode.
local function next_field(client)
  return of_writers and client .. ":next:write" or client .. ":next"
end

-- Up to two waiting clients other than this one, in order.
local function others_waiting(queue, client)
  local found = redis.pcall("ZRANGE", queue, "1", "+inf", "BYSCORE", "LIMIT", "0", "3")
  local others = {}
  for i = 1, found.err and 0 or #found do
    if found[i] ~= client and #others < 2 then
      others[#others + 1] = found[i]
    end
  end
  return others
end
