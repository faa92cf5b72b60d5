-- Take the sweep of this interval for all proxies on the store, unless one has begun it.
--
-- KEYS: sweep
-- ARGV: ms of the interval
-- Returns 1 if it was taken; else 0, and the size of the stored data that the last sweep measured.

local clock = redis.call('TIME')
local now, found = clock[1] * 1000 + math.floor(clock[2] / 1000), redis.call('HMGET', KEYS[1], 'begun_ms', 'size_bytes')
local begun = tonumber(found[1] or '')
if begun and begun <= now and now - begun < tonumber(ARGV[1]) then  -- a later one: the server's clock was set back
  return {0, found[2] or ''}
end
redis.call('HSET', KEYS[1], 'begun_ms', string.format('%.0f', now))
return {1}
