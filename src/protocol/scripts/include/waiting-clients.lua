--[[
  waiting-clients: the clients that wait in a queue for a lock, or for permits, as inspection reports them. A member is a client id, or
  "<client id>:<permits>" for a semaphore. Any program may have written the key: a key of another type, or with any other member,
  counts as empty, and so does a key that the user may not read.
]]
local MOST_CLIENTS_READ, MOST_CLIENTS_TOLD = 10000, "1000"
local FOR_LOCK, TO_WRITE, FOR_PERMITS = 0, 1, 2

local function is_member(member)
  return string.find(string.sub(member, 1, 36), "^[0-9a-f-]+$")
    and (#member == 36 or string.find(string.sub(member, 37), "^:%d+$"))
end

-- Returns the clients, the number of places, and what the first of them waits for. may_read(key, number of clients): whether to
-- read the clients; nil: always.
local function clients_in(queue, may_read)
  local count = redis.pcall("ZCOUNT", queue, "1", "+inf")
  if type(count) ~= "number" or count == 0 then
    return {}, 0
  end
  if count > MOST_CLIENTS_READ then
    return {}, count
  end
  if may_read and not may_read(queue, count) then
    return {}, 0
  end
  local found = redis.pcall("ZRANGE", queue, "1", "+inf", "BYSCORE", "LIMIT", "0", MOST_CLIENTS_TOLD)
  if found.err or #found == 0 then
    return {}, 0
  end
  local waits_for = #found[1] > 36 and FOR_PERMITS or FOR_LOCK
  for at, member in ipairs(found) do
    if not is_member(member) then
      return {}, 0
    end
    found[at] = string.sub(member, 1, 36)
  end
  return found, count, waits_for
end

-- The clients, the next one first: at most 1,000, and none if there are more than 10,000; the number of places; and what they wait for.
-- Locks of two kinds may share a name: writers are listed only if no client waits for a lock of another kind.
local function waiting_clients(queue, writers, may_read)
  local clients, count, waits_for = clients_in(queue, may_read)
  if count > 0 then
    return clients, count, waits_for or FOR_LOCK
  end
  clients, count = clients_in(writers, may_read)
  return clients, count, count > 0 and TO_WRITE or FOR_LOCK
end
