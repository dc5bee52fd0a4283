--[[
  waiting: the queue of the clients that wait for a lock: a sorted set of client ids by their places, which are numbers from 1 on. A
  client that has the lock stands there with HAS_IT unless it waits as well: whoever stands there looks into the queue when it frees
  the lock. A member "given" says that the latest release has given the lock away; no client id is like it. A client that polls hears
  of no turn, and so is not among those that wait: it has a place below -POLLS, and CLAIMS once all that came before it had their turn.
  A user without rights to the key, or a key of another type, is as a queue without anybody.
  The script has: of_writers, whether these clients wait for the write lock of a read-write lock.
]]
local HAS_IT, GIVEN, GIVEN_SCORE = "-1", "given", "-2"
local CLAIMS, POLLS = "-3", 10
-- A lock is given to a client for so long: by then it has taken it, or others may.
local GIVEN_MS = "1500"
-- How many clients that are not there one call passes over.
local MOST_GIVEN = 100

-- The queue lives for so long after the latest question of a client that waits. Each asks far more often.
local QUEUE_MS = "600000"

-- Client ids are UUIDs.
local function client_of(holder)
  return string.sub(holder, 1, 36)
end

local function place_of(queue, client)
  local score = redis.pcall("ZSCORE", queue, client)
  return type(score) == "string" and tonumber(score) or nil
end

-- The field that a lock has while it is given to a client that has not taken it; a read-write lock has its mode besides.
local function next_field(client)
  return of_writers and client .. ":next:write" or client .. ":next"
end

-- Up to two clients that wait, the first first, but not this one.
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
