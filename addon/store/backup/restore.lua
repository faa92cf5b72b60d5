-- Add to a key what it does not have yet.
--
-- KEYS: the key, which is of the type in ARGV or does not exist
-- ARGV: type; 1 if it is restored only as a whole; ms to live if it did not exist (-1: for ever); the items
-- Returns 1 if anything was added.

local existed = redis.call('EXISTS', KEYS[1]) == 1
if existed and ARGV[2] == '1' then
  return 0
end
local added = 0
if ARGV[1] == 'list' then
  for i = 4, #ARGV do
    redis.call('RPUSH', KEYS[1], ARGV[i])
    added = 1
  end
else
  for i = 4, #ARGV, 2 do
    if ARGV[1] == 'hash' then
      added = added + redis.call('HSETNX', KEYS[1], ARGV[i], ARGV[i + 1])
    else
      added = added + redis.call('ZADD', KEYS[1], 'NX', ARGV[i + 1], ARGV[i])
    end
  end
end
if not existed and added > 0 and ARGV[3] ~= '-1' then
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
return math.min(added, 1)
