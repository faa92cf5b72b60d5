-- Number, store and publish tombstones, atomically: all subscribers receive them in the order of their numbers.
--
-- KEYS: tombstones, last
-- ARGV: channel, the earliest and the latest time that are kept, how many are kept, the number of the last tombstone that
--       the writer has applied (used if `last` was lost), the tombstones
-- Returns the tombstones, each with its `number` and `after`, the number before it.

local last = tonumber(redis.call('GET', KEYS[2]) or '')
if last and not (last >= 0 and last < 9e15) then
  last = nil
end
local applied = tonumber(ARGV[5])
if not last and applied > 0 then
  last = applied
end
local now = redis.call('TIME')
local numbered = {}
for i = 6, #ARGV do
  local number = now[1] * 1000000 + now[2]
  if last and last >= number then
    number = last + 1
  end
  local tombstone = cmsgpack.unpack(ARGV[i])
  tombstone.number, tombstone.after = number, last or number - 1
  last = number
  numbered[#numbered + 1] = cmsgpack.pack(tombstone)
  redis.call('ZADD', KEYS[1], string.format('%.17g', tombstone.time_s), numbered[#numbered])
  redis.call('PUBLISH', ARGV[1], numbered[#numbered])
end
redis.call('SET', KEYS[2], string.format('%.0f', last))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], ARGV[3], '+inf')
redis.call('ZREMRANGEBYRANK', KEYS[1], 0, -ARGV[4] - 1)
return numbered
