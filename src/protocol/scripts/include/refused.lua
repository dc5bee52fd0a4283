--[[
  refused: the answer to an acquisition when the server has refused its write. If the server takes no writes at all, because it has
  become a replica or lacks replicas, the whole call fails with the server's error, so that the client may look for the master.
]]
local function refused(message)
  if string.find(message, "READONLY", 1, true) or string.find(message, "NOREPLICAS", 1, true) then
    -- This command fails with the server's error. It would delete nothing: no holder has an empty name.
    redis.call("HDEL", KEYS[1], "")
  end
  return { "refused", message }
end
