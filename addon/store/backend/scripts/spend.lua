-- Count a fetch, or the bytes that it received, unless the budget is exhausted.
--
-- KEYS: spent
-- ARGV: the period, the first period that counts, how many are allowed, ms to live, how many are counted
-- Returns 1 if they were counted, 0 if not.

local total = 0
local counts = redis.call('HGETALL', KEYS[1])
for i = 1, #counts, 2 do
  local period, n = tonumber(counts[i]), tonumber(counts[i + 1])
  if not period or not n or n % 1 ~= 0 or period < tonumber(ARGV[2]) then
    redis.call('HDEL', KEYS[1], counts[i])
  else
    total = total + n
  end
end
if total >= tonumber(ARGV[3]) then
  return 0
end
redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[5])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
