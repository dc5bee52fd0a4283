--[[
  permit-leave: remove a line (a client's calls for one number of permits) from the queue of a semaphore. Tells the first remaining lines
  their turn if there are permits for them. If the removed line was the first that was not told its turn, tells the next line that it
  is first.

  KEYS[1]  permits    string, integer: the available permits
  KEYS[2]  queue      sorted set, the queue of the clients that wait for permits; see permit-queue.lua
  KEYS[3]  saved      string, the owner for which permits are saved up, and their number
  ARGV[1]  channel    channel of the waiters
  ARGV[2]  line       "<client id>:<permits>"
  ARGV[3]  countsAll  1: this server knows all listeners of a channel; 0: it does not

  Returns  { serverMs, { "left", lines } }  lines: how many waiting lines were read; 0 if the line itself did not wait
  Compat   Redisson has no such queue.
]]
--@include request
--@include saved-permits
--@include permit-queue
local waiting = { queue = KEYS[2], saved = KEYS[3], channel = ARGV[1], counts_all = ARGV[3] == "1" }

-- Whether all lines before `line` have been told their turn.
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
