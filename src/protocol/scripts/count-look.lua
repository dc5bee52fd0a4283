--[[
  count-look: how many permits a semaphore has available, or the remaining count of a latch.

  KEYS[1]  count  string, integer

  Returns  { serverMs, answer }:
           { "count", value }      0 when the key is missing
           { "wrong-type", type }  the key has another type
  Compat   Reads only.
]]
--@include request
local foreign = foreign_count(KEYS[1])
if foreign then
  return { now_ms, { "wrong-type", foreign } }
end
return { now_ms, { "count", string.format("%.0f", count_of(KEYS[1]) or 0) } }
