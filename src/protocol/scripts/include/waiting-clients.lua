--[[
  waiting-clients: the clients that wait for a lock in its queue, as a look tells them. Any program may have written the key: one of
  another type, or with a member that is no client id, is a queue without anybody, and so is one that the user may not read.
]]
local MOST_CLIENTS_READ, MOST_CLIENTS_TOLD = 10000, "1000"

-- may_read: decides by the key and the number of its clients whether they are read; nil: they are.
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
  if found.err then
    return {}, 0
  end
  for _, client in ipairs(found) do
    if #client ~= 36 or not string.find(client, "^[0-9a-f-]+$") then
      return {}, 0
    end
  end
  return found, #found > 0 and count or 0
end

-- The clients, the next first, and how many there are: of many the first 1,000, and none of more than 10,000; 1 when they wait to write.
-- Locks of two kinds may have one name: of writers it is told only where no client waits for a lock of another kind.
local function waiting_clients(queue, writers, may_read)
  local clients, count = clients_in(queue, may_read)
  if count > 0 then
    return clients, count, 0
  end
  clients, count = clients_in(writers, may_read)
  return clients, count, count > 0 and 1 or 0
end
