--[[
  permit-leave: take a line out of the queue of the clients that wait for permits of a semaphore. If it was told its turn, the next is told.

  KEYS[1]  permits    string, integer: what is available
  KEYS[2]  queue      sorted set, where clients wait for permits; see permit-queue.lua
  KEYS[3]  saved      string, the owner that permits are saved up for, and how many
  ARGV[1]  channel    where waiters listen
  ARGV[2]  line       "<client id>:<permits>"
  ARGV[3]  countsAll  1: all who listen to a channel are known to this server; 0: they are not

  Returns  { serverMs, { "left", lines } }  how many lines wait that were looked at; 0, if it did not wait itself
  Compat   The queue is holdfast's own.
]]
--@include request
--@include saved-permits
--@include permit-queue
local waiting = { queue = KEYS[2], saved = KEYS[3], channel = ARGV[1], counts_all = ARGV[3] == "1" }

-- Whether all lines before it have been told their turn.
local function is_first(line, told)
  for _, other in ipairs(lines_of(waiting, MOST_LINES)) do
    if other == line or not told[other] then
      return other == line
    end
  end
  return false
end

local function leave(line)
  if not place_of(waiting, line) then
    return 0
  end
  local was_first = is_first(line, told_lines(waiting))
  forget(waiting, line)
  return tell_waiting(waiting, not foreign_count(KEYS[1]) and count_of(KEYS[1]) or 0, was_first)
end

return { now_ms, { "left", leave(ARGV[2]) } }
