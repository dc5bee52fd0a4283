--[[
  permit-question: what happens to a line, `waiting`, of the queue of permit-queue.lua when it asks for permits. waiting.way is "asks" if
  the line takes no place, and only leaves permits to lines that were told their turn; "stands" if it takes a place in the queue when it is
  refused; "stays" if it also takes one when its permits are granted.
]]
--@include permit-queue
-- Finds how many permits must be left to earlier lines that were told their turn, and the number of these lines.
waiting.look_ahead = function()
  local lines
  waiting.told, lines = told_lines(waiting)
  waiting.place = place_of(waiting, waiting.line)
  waiting.wanted_ahead, waiting.told_ahead, waiting.until_ms = 0, 0, nil
  for _, line in ipairs(lines) do
    local told_ms = waiting.told[line]
    local place = line ~= waiting.line and place_of(waiting, line)
    if place and place < (waiting.place or 2 ^ 53) then
      waiting.wanted_ahead, waiting.told_ahead = waiting.wanted_ahead + wanted_by(line), waiting.told_ahead + 1
      waiting.until_ms = math.min(waiting.until_ms or TURN_MS, told_ms + TURN_MS - now_ms)
    end
  end
  return waiting.wanted_ahead
end

local function to_the_end()
  local last = redis.pcall("ZRANGE", waiting.queue, "-1", "-1", "WITHSCORES")
  local place = math.max(0, tonumber(last[2] or 0)) + 1
  redis.pcall("ZADD", waiting.queue, milliseconds(place), waiting.line)
  if redis.pcall("PEXPIRE", waiting.queue, QUEUE_MS) ~= 1 then
    forget(waiting, waiting.line)
  end
  waiting.place = place_of(waiting, waiting.line)
end

-- Returns the standing of the line, and how many lines before it were not told their turn. 0: no line waits; 1: other lines
-- wait; 2: the line waits behind lines that were not told their turn; 3: it is the first line that was not told its turn; 4: it
-- is new in the queue, and no line waits before it.
local function standing()
  if waiting.place then
    local before = redis.pcall("ZCOUNT", waiting.queue, "1", "(" .. milliseconds(waiting.place))
    local ahead = (tonumber(before) or 0) - waiting.told_ahead
    return ahead > 0 and 2 or (before == 0 and waiting.is_new and 4 or 3), ahead
  end
  return #lines_of(waiting, 1), 0
end

-- The line was granted its permits, and `left` permits remain. If the line had been told its turn, the line after it was told "next" then.
waiting.entered = function(left)
  local was_told = waiting.told[waiting.line]
  if waiting.place then
    forget(waiting, waiting.line)
  end
  local had_place = waiting.place
  waiting.place = nil
  if waiting.way == "stays" then
    to_the_end()
  end
  if left >= 1 or had_place and not was_told then
    tell_waiting(waiting, left, had_place and not was_told)
  end
  waiting.look_ahead()
  return (standing())
end

-- The line is refused. Returns its standing, and the milliseconds until it may get permits. more_ms: the milliseconds until more
-- permits are available. -1: unknown.
waiting.refused = function(available, more_ms)
  if waiting.told[waiting.line] then
    redis.pcall("ZREM", waiting.queue, TOLD .. waiting.line)
  end
  if waiting.way ~= "asks" then
    if waiting.place then
      redis.pcall("PEXPIRE", waiting.queue, QUEUE_MS)
    else
      to_the_end()
      waiting.is_new = true
    end
  end
  if available - waiting.wanted_ahead >= 1 then
    tell_waiting(waiting, available)
    waiting.look_ahead()
  end
  local stands, ahead = standing()
  if waiting.place then
    -- The second line asks after the first line has had its turn; the lines behind it use their own timers.
    more_ms = ahead < 2 and more_ms >= 0 and more_ms + ahead * TURN_MS or -1
    if ahead == 0 and waiting.until_ms then
      more_ms = more_ms < 0 and waiting.until_ms or math.min(more_ms, waiting.until_ms)
    end
  end
  return stands, more_ms
end
