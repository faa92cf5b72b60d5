-- Return the number of the last tombstone; if it is missing, a number lower than that of any later tombstone.
--
-- KEYS: last

local last = tonumber(redis.call('GET', KEYS[1]) or '')
if not last or not (last >= 0 and last < 9e15) then
  local now = redis.call('TIME')
  last = now[1] * 1000000 + now[2]
  redis.call('SET', KEYS[1], string.format('%.0f', last))
end
return string.format('%.0f', last)
