-- Remove the copies of an object that were stored up to a moment.
--
-- KEYS: copies, bodies, buried
-- ARGV: the moment, ms for which the tombstone is to be kept (0: none is written)
-- Answers how many were removed.

if ARGV[2] ~= '0' then
  local buried = redis.call('GET', KEYS[3])
  if not buried or tonumber(buried) < tonumber(ARGV[1]) then
    redis.call('SET', KEYS[3], ARGV[1], 'PX', ARGV[2])
  end
end

local variants = redis.call('HGETALL', KEYS[1])
local removed, used = 0, {}
for i = 1, #variants, 2 do
  local digest, stored_s = string.match(variants[i + 1], '^([^|]*)|([^|]*)|')
  if tonumber(stored_s) <= tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], variants[i])
    removed = removed + 1
  else
    used[digest] = true
  end
end
for _, digest in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not used[digest] then
    redis.call('HDEL', KEYS[2], digest)
  end
end
return removed
