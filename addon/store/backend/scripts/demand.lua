-- Add the counts of one variant of an object, which one process has made, to what is stored.
--
-- KEYS: demand
-- ARGV: the variant; at, since, day and minutes of the demand (`policies.models.demand`), the time of the contact and
--       the stale hits predicted since (`counts.copy_counts`), as text; the
--       memories with which day and minutes decay, s, the latest valid time, how many variants are kept, ms to live, as
--       text too (an argument costs the caller more than its length)
--
-- A stored demand of a later time than is valid is replaced: a clock was set back.

local function numbers(text)
  local found = {}
  for number in string.gmatch(text or '', '%S+') do
    found[#found + 1] = tonumber(number)
  end
  return found
end

local function demand_in(text)
  local found = numbers(text)
  return #found == 6 and found or nil
end

local new, given = numbers(ARGV[2]), numbers(ARGV[3])
local latest, kept, live = given[3], given[4], given[5]
local known = demand_in(redis.call('HGET', KEYS[1], ARGV[1]) or '')
if known and known[1] <= latest then
  local at = math.max(known[1], new[1])
  for i = 3, 4 do
    local memory = given[i - 2]
    new[i] = known[i] * math.exp((known[1] - at) / memory) + new[i] * math.exp((new[1] - at) / memory)
  end
  new[1], new[2] = at, math.min(known[2], new[2])
  if known[5] == new[5] then
    new[6] = known[6] + new[6]
  elseif known[5] > new[5] then
    new[5], new[6] = known[5], known[6]
  end
end
local text = {}
for i = 1, 6 do
  text[i] = string.format('%.17g', new[i])
end
redis.call('HSET', KEYS[1], ARGV[1], table.concat(text, ' '))

if redis.call('HLEN', KEYS[1]) > kept then
  local stored, oldest, oldest_s = redis.call('HGETALL', KEYS[1]), nil, math.huge
  for i = 1, #stored, 2 do
    local found = demand_in(stored[i + 1])
    local at_s = found and found[1] or -math.huge
    if at_s < oldest_s then
      oldest, oldest_s = stored[i], at_s
    end
  end
  redis.call('HDEL', KEYS[1], oldest)
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', live))
return 1
