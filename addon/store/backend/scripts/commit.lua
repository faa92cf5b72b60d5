-- Write the next version of a record and change the counts under its label, atomically.
--
-- KEYS: record; if counts change, hosts, and updates, starts and rates of each label whose counts do
-- ARGV: expected version ('' for none), the record ('' removes it), its last contact, ms to live (0: no end), the new
--       version ('' for the next one), for each label: the label, number of update counts, (hour, gain) of each, the
--       same of starts, and of rates with names in place of hours
-- Returns {1, new version}; or, if another version was found and nothing was written, {0, that version, its record}.

local found = redis.call('HMGET', KEYS[1], 'v', 'b')
local version = found[1] or ''
if version ~= ARGV[1] then
  return {0, version, found[2] or ''}
end

local at = 5
local function take()
  at = at + 1
  return ARGV[at]
end

local function add_counts(key)
  for _ = 1, tonumber(take()) do
    local hour, gain = take(), take()
    local sum = redis.pcall('HINCRBY', key, hour, gain)
    if type(sum) ~= 'number' then  -- the value was not a count
      sum = tonumber(gain)
      redis.call('HSET', key, hour, gain)
    end
    if sum <= 0 then
      redis.call('HDEL', key, hour)
    end
  end
end

if ARGV[2] == '' then
  redis.call('DEL', KEYS[1])
  version = ''
else
  version = ARGV[5]
  if version == '' then
    -- A version never repeats, not even when a record is removed and created again.
    local now = redis.call('TIME')
    version = string.format('%s.%06d', now[1], now[2])
    if version == ARGV[1] then
      version = version .. '+'
    end
  end
  redis.call('HSET', KEYS[1], 'v', version, 'b', ARGV[2], 't', ARGV[3])
  if ARGV[4] == '0' then
    redis.call('PERSIST', KEYS[1])
  else
    redis.call('PEXPIRE', KEYS[1], ARGV[4])
  end
end

for i = 3, #KEYS, 3 do
  local label = take()
  add_counts(KEYS[i])
  add_counts(KEYS[i + 1])
  add_counts(KEYS[i + 2])
  if redis.call('EXISTS', KEYS[i], KEYS[i + 1], KEYS[i + 2]) > 0 then
    redis.call('SADD', KEYS[2], label)
  else
    redis.call('SREM', KEYS[2], label)
  end
end
return {1, version}
