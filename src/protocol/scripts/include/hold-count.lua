--[[
  hold-count: whether a hold count that is stored can be that of a holder whose latest releases may have been lost.
]]
local function is_between(count, kept_count, held_count)
  local stored = tonumber(count)
  return stored ~= nil and stored >= tonumber(kept_count) and stored <= tonumber(held_count)
end
