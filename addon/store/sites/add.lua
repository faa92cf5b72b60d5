-- Add what was learnt of a site to what all processes know of it, and publish it, atomically.
--
-- KEYS: siblings, changes
-- ARGV: channel, message, how long both live (ms), how many counts are kept, how many changes are kept, the number of
--       changes that follow, the changes, and then pairs of a field and its four counts
-- The message is published after the new version and the one before it.

local before = tonumber(redis.call('HGET', KEYS[1], 'version') or '')
if not before or not (before >= 0 and before < 9e15) then
  before = 0
end
local now = redis.call('TIME')
local version = math.max(before + 1, now[1] * 1000000 + now[2])
redis.call('HSET', KEYS[1], 'version', string.format('%.0f', version))
local kept, n_changes = tonumber(ARGV[4]), tonumber(ARGV[6])
for i = 7, 6 + n_changes do
  redis.call('LREM', KEYS[2], 0, ARGV[i])
  redis.call('RPUSH', KEYS[2], ARGV[i])
end
redis.call('LTRIM', KEYS[2], -ARGV[5], -1)
for i = 7 + n_changes, #ARGV, 2 do
  local added, sum = {}, {}
  for n in string.gmatch(ARGV[i + 1], '%d+') do
    added[#added + 1] = tonumber(n)
  end
  for n in string.gmatch(redis.call('HGET', KEYS[1], ARGV[i]) or '', '%d+') do
    sum[#sum + 1] = tonumber(n)
  end
  for j, n in ipairs(added) do
    sum[j] = string.format('%.0f', n + (sum[j] or 0))
  end
  redis.call('HSET', KEYS[1], ARGV[i], table.concat(sum, ' ', 1, #added))
end
local excess = redis.call('HLEN', KEYS[1]) - kept
if excess > 0 then
  for _, field in ipairs(redis.call('HRANDFIELD', KEYS[1], excess)) do
    if field ~= 'version' and field ~= 'site' then
      redis.call('HDEL', KEYS[1], field)
    end
  end
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, ARGV[3])
end
redis.call('PUBLISH', ARGV[1], string.format('%.0f %.0f ', version, before) .. ARGV[2])
return 1
