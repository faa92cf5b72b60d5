-- Take the fetch of an object, unless another process fetches it or has just done so, or its domain is paused.
--
-- KEYS: fetch, pace
-- ARGV: holder, ms of the lease, ms until the next fetch of the domain
-- Returns 0: taken; above 0: ms until the domain may be fetched from; below 0: minus the ms for which it is another's.

local found, left = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
-- A key without a lifetime was not written by bestbefore; `done` is of an earlier version, which had plans.
if found and left >= 0 and not string.match(found, '^done ') then
  if (string.match(found, '^made (.+)$') or found) ~= ARGV[1] then
    return -math.max(left, 1)
  end
end
local wait = redis.call('PTTL', KEYS[2])
if wait > 0 then
  return wait
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if tonumber(ARGV[3]) > 0 then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
end
return 0
