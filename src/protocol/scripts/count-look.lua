--[[
  count-look: how many permits a semaphore has to give, or how far a latch has to be counted down.

  KEYS[1]  count  string, integer

  Returns  { serverMs, answer }:
           { "count", value }      0 when there is none
           { "wrong-type", type }  the key is something else
  Compat   Reads only.
]]
--@include request
local foreign = foreign_count(KEYS[1])
if foreign then
  return { now_ms, { "wrong-type", foreign } }
end
return { now_ms, { "count", string.format("%.0f", count_of(KEYS[1]) or 0) } }
