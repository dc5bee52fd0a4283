--[[
  permit-queue: the queue of the clients that wait for permits of a semaphore { queue, saved, channel, counts_all, line }: a sorted
  set. A member "<client id>:<permits>" is a line: the calls of one client for that number of permits. Its score is its place, from 1 on.
  Permits are never reserved for a line: a line is told its turn, and then asks. A member "told:<client id>:<permits>" marks a line that was
  told its turn; its score is the time when it was told, in negated epoch milliseconds. For TURN_MS after that time, later lines leave
  enough permits for the line.
  If the user has no rights to the key, or the key has another type, the queue counts as empty.
]]
--@include announce
local TURN_MS, TOLD = 1500, "told:"
-- How many lines one call reads.
local MOST_LINES = 100
-- The queue expires this long after a waiting client has last asked. Each client asks far more often.
local QUEUE_MS = "600000"

-- Other kinds of queues may have left members without a number of permits in the key.
local function wanted_by(line)
  return tonumber(string.sub(line, 38)) or 2 ^ 53
end

local function place_of(waiting, line)
  local score = redis.pcall("ZSCORE", waiting.queue, line)
  return type(score) == "string" and tonumber(score) or nil
end

local function forget(waiting, line)
  return redis.pcall("ZREM", waiting.queue, line, TOLD .. line) ~= 0
end

local function lines_of(waiting, most)
  return redis.pcall("ZRANGE", waiting.queue, "1", "+inf", "BYSCORE", "LIMIT", "0", milliseconds(most))
end

-- The lines that were told their turn, with the times. A line that has not asked in time is removed.
local function told_lines(waiting)
  local found, told, lines = redis.pcall("ZRANGE", waiting.queue, "-inf", "(0", "BYSCORE", "WITHSCORES"), {}, {}
  for i = 1, #found, 2 do
    local line, told_ms = string.sub(found[i], #TOLD + 1), -tonumber(found[i + 1])
    if math.abs(now_ms - told_ms) < TURN_MS then
      told[line], lines[#lines + 1] = told_ms, line
    else
      redis.pcall("ZREM", waiting.queue, found[i], line)
    end
  end
  return told, lines
end

-- Tells as many of the first lines their turn as the permits suffice for, but never the asking line. A line without a listener is
-- removed. If any line was told its turn, the first line after these is told that it is next. is_first: the first line became first in
-- another way, and is told that it is first.
local function tell_waiting(waiting, available, is_first)
  local told, owner, saved = told_lines(waiting), saved_for(waiting.saved)
  local lines, next_line, has_told
  -- Few lines are read at first: usually the first line takes all permits, and the next line is among those read.
  for most = 3, MOST_LINES, MOST_LINES - 3 do
    local left = available
    lines, next_line = lines_of(waiting, most), nil
    for _, line in ipairs(lines) do
      local wanted = wanted_by(line)
      local is_owner = owner and string.sub(owner, 1, 36) == string.sub(line, 1, 36) and wanted == saved
      if told[line] then
        left = left - wanted
      elseif line ~= waiting.line and left - (is_owner and 0 or saved) >= wanted then
        if publish(waiting.channel .. ":" .. line, "turn") == 0 and waiting.counts_all then
          forget(waiting, line)
        else
          redis.pcall("ZADD", waiting.queue, milliseconds(-now_ms), TOLD .. line)
          told[line], left, is_first, has_told = now_ms, left - wanted, false, true
        end
      elseif not next_line and line ~= waiting.line then
        next_line = line
      end
    end
    if #lines < most or left < 1 and next_line then
      break
    end
  end
  if next_line and (is_first or has_told) then
    publish(waiting.channel .. ":" .. next_line, is_first and "first" or "next")
  end
  return #lines
end

-- After this, each `announce` of the call also tells the first lines.
local function look_into(queue, saved, channel, counts_all)
  look = function(available)
    return tell_waiting({ queue = queue, saved = saved, channel = channel, counts_all = counts_all == "1" }, available)
  end
end
