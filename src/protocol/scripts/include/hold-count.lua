--[[
  hold-count: whether a stored hold count is between the count to keep and the holder's earlier count. It may be above the
  expected count, because Redis may not have received earlier releases of this holder.
]]
local function is_between(count, kept_count, held_count)
  local stored = tonumber(count)
  return stored ~= nil and stored >= tonumber(kept_count) and stored <= tonumber(held_count)
end
