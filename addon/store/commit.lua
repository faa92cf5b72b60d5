-- The next version of a record, with its observations and the counts of its host: all of it or nothing.
--
-- KEYS: record, seen, hosts, updates, starts
-- ARGV: expected version ('' for none), the record ('' removes it), its last contact, ms to live (0: no end), host,
--       observations kept, number of observations, the observations,
--       number of update counts, (hour, gain) of each, number of start counts, (hour, gain) of each
-- Answers {1, new version}, or, with another version found and nothing written, {0, that version, its record}.

local found = redis.call('HMGET', KEYS[1], 'v', 'b')
local version = found[1] or ''
if version ~= ARGV[1] then
  return {0, version, found[2] or ''}
end

local at = 7
local function take()
  at = at + 1
  return ARGV[at]
end

local seen = {}
for i = 1, tonumber(ARGV[7]) do
  seen[i] = take()
end

local function add_counts(key)
  for _ = 1, tonumber(take()) do
    local hour, gain = take(), take()
    if redis.call('HINCRBY', key, hour, gain) <= 0 then
      redis.call('HDEL', key, hour)
    end
  end
end

if ARGV[2] == '' then
  redis.call('DEL', KEYS[1], KEYS[2])
  version = ''
else
  -- Never the same twice, not even for a record that was removed and came again.
  local now = redis.call('TIME')
  version = string.format('%s.%06d', now[1], now[2])
  if version == ARGV[1] then
    version = version .. '+'
  end
  redis.call('HSET', KEYS[1], 'v', version, 'b', ARGV[2], 't', ARGV[3])
  for _, observation in ipairs(seen) do
    redis.call('RPUSH', KEYS[2], observation)
  end
  redis.call('LTRIM', KEYS[2], -tonumber(ARGV[6]), -1)
  for i = 1, 2 do
    if ARGV[4] == '0' then
      redis.call('PERSIST', KEYS[i])
    else
      redis.call('PEXPIRE', KEYS[i], ARGV[4])
    end
  end
end

add_counts(KEYS[4])
add_counts(KEYS[5])
if redis.call('EXISTS', KEYS[4], KEYS[5]) > 0 then
  redis.call('SADD', KEYS[3], ARGV[5])
else
  redis.call('SREM', KEYS[3], ARGV[5])
end
return {1, version}
