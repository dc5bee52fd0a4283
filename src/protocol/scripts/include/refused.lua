--[[
  refused: the answer to an acquisition whose write the server has refused. One that takes no writes at all, as it has
  become a replica or lacks replicas, fails the whole call: its client is to hear of it, and may find the master.
]]
local function refused(message)
  if string.find(message, "READONLY", 1, true) or string.find(message, "NOREPLICAS", 1, true) then
    -- No holder has an empty field.
    redis.call("HDEL", KEYS[1], "")
  end
  return { "refused", message }
end
