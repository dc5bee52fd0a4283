--[[
  refused: the answer to an acquisition when the server has refused its write. If the server takes no writes at all, because it has
  become a replica or lacks replicas, the whole call fails: the client gets the error itself, and may look for the master.
]]
local function refused(message)
  if string.find(message, "READONLY", 1, true) or string.find(message, "NOREPLICAS", 1, true) then
    -- No holder has an empty field.
    redis.call("HDEL", KEYS[1], "")
  end
  return { "refused", message }
end
