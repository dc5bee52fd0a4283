--[[
  write-field: whether a field of a read-write lock belongs to a holder of its write lock.
]]
local function is_write_field(field)
  return string.sub(field, -6) == ":write"
end
