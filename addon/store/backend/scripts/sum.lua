-- Sum the counts under some labels in one part of their domain.
--
-- KEYS: updates, starts and rates of each label in turn
-- Returns the sums of updates, those of starts and those of rates: hour or name, sum, hour or name, sum, ...

local sums = {{}, {}, {}}
for i, key in ipairs(KEYS) do
  local sum, counts = sums[(i - 1) % 3 + 1], redis.call('HGETALL', key)
  for j = 1, #counts, 2 do
    -- Values that are not counts are ignored.
    local n = string.match(counts[j + 1], '^-?%d+$') and #counts[j + 1] <= 15 and tonumber(counts[j + 1])
    if n then
      sum[counts[j]] = (sum[counts[j]] or 0) + n
    end
  end
end

local answer = {{}, {}, {}}
for i, sum in ipairs(sums) do
  for hour, n in pairs(sum) do
    table.insert(answer[i], hour)
    table.insert(answer[i], n)
  end
end
return answer
