-- Take the job of prefetching an object, unless it is done, it is taken, or its domain is paused.
--
-- KEYS: fetch, pace
-- ARGV: holder, when the job is due, ms of the lease, ms until the next job of the domain
-- Returns 0: taken; above 0: ms to wait; -1: done already.

local found, left = redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1])
if found and left >= 0 then  -- a key without a lifetime was not written by bestbefore
  local done = string.match(found, '^done (.+)$')
  if not done then
    return math.max(left, 1)
  end
  if (tonumber(done) or -math.huge) >= tonumber(ARGV[2]) then
    return -1
  end
end
local wait = redis.call('PTTL', KEYS[2])
if wait > 0 then
  return wait
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[3])
if tonumber(ARGV[4]) > 0 then
  redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[4])
end
return 0
