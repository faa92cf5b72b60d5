-- Store one variant of an object, in place of the stored copy of this variant.
--
-- Nothing is stored if there is a later tombstone of its URL than the writer had applied, or if the stored copy was
-- received later. A stored copy with a time in the future does not count as later: a clock was set back.
--
-- KEYS: copies, bodies, tombstone
-- ARGV: variant, digest, stored_s, the copy, ms to live, variants kept, received_s, now_s, number of the last tombstone
--       applied (0: unknown), where the content is: 'given' (it is the next argument), 'kept' (in bodies already) or
--       'elsewhere' (in a file)
-- Returns the digest of the content that it replaced, if no variant has it any longer; else an empty string.

local applied, stored_s = tonumber(ARGV[9]), tonumber(ARGV[3])
local number, time_s = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+)|(.*)$')
if applied > 0 then
  if number and applied < tonumber(number) then
    return ''
  end
elseif time_s and stored_s < (tonumber(time_s) or -math.huge) then
  return ''
end

-- All is read before anything is written: a key of a wrong type changes nothing.
local variants, contents = redis.call('HGETALL', KEYS[1]), redis.call('HKEYS', KEYS[2])
local before
for i = 1, #variants, 2 do
  if variants[i] == ARGV[1] then
    before = variants[i + 1]
  end
end
if before then
  -- A copy that cannot be decoded is replaced. In a packed one the time stands behind the mark (`packing`).
  local encoded = string.match(before, '^[^|]*|[^|]*|(.*)$') or ''
  local received_s
  if string.sub(encoded, 1, 2) == '\193\001' then
    received_s = #encoded >= 18 and struct.unpack('>d', encoded, 3)
  else
    local readable, copy = pcall(cmsgpack.unpack, encoded)
    received_s = readable and type(copy) == 'table' and tonumber(copy.response_time_s)
  end
  if received_s and tonumber(ARGV[7]) < received_s and received_s <= tonumber(ARGV[8]) then
    return ''
  end
end

local is_there = ARGV[10] ~= 'kept'
for _, digest in ipairs(contents) do
  is_there = is_there or digest == ARGV[2]
end
local used, n = {}, 0
local oldest, oldest_s = nil, math.huge
local function count(variant, digest, at_s)
  used[digest] = true
  n = n + 1
  if at_s < oldest_s then
    oldest, oldest_s = variant, at_s
  end
end

if ARGV[10] == 'given' then
  redis.call('HSET', KEYS[2], ARGV[2], ARGV[11])
end
if is_there then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. '|' .. ARGV[3] .. '|' .. ARGV[4])
  count(ARGV[1], ARGV[2], stored_s)
elseif before then
  redis.call('HDEL', KEYS[1], ARGV[1])  -- its content was evicted: the copy cannot be used
end
for i = 1, #variants, 2 do
  if variants[i] ~= ARGV[1] then
    local digest, at_s = string.match(variants[i + 1], '^([^|]*)|([^|]*)|')
    at_s = tonumber(at_s or '')
    if at_s then
      count(variants[i], digest, at_s)
    else
      redis.call('HDEL', KEYS[1], variants[i])  -- not written by bestbefore
    end
  end
end
if n > tonumber(ARGV[6]) then
  redis.call('HDEL', KEYS[1], oldest)
end
for _, digest in ipairs(contents) do
  if not used[digest] then
    redis.call('HDEL', KEYS[2], digest)
  end
end

for i = 1, 2 do
  if n == 1 or redis.call('PTTL', KEYS[i]) < tonumber(ARGV[5]) then
    redis.call('PEXPIRE', KEYS[i], ARGV[5])
  end
end
local replaced = before and string.match(before, '^([^|]*)|')
return replaced and not used[replaced] and replaced or ''
