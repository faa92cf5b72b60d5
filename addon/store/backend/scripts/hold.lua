-- Renew the lease of a process on its part of the shards: give back those above its part, take free ones below it.
--
-- KEYS: shards
-- ARGV: the holder, ms of the lease, the number of shards
-- Returns the number of shards of its part, and those that it holds.

local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local me, lease, shards = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local ends, owners = {}, {}
local flat = redis.call('HGETALL', KEYS[1])
for i = 1, #flat, 2 do
  local holder, shard = string.match(flat[i], '^until (.+)$'), tonumber(flat[i])
  if holder then
    local at = tonumber(flat[i + 1])
    if at and at > now and at < now + 100 * lease then  -- a later end was not written by bestbefore
      ends[holder] = at
    elseif holder ~= me then
      redis.call('HDEL', KEYS[1], flat[i])
    end
  elseif shard and shard >= 0 and shard < shards and shard % 1 == 0 then
    owners[shard] = flat[i + 1]
  else
    redis.call('HDEL', KEYS[1], flat[i])
  end
end
ends[me] = now + lease
redis.call('HSET', KEYS[1], 'until ' .. me, string.format('%.0f', ends[me]))

local live, place = 0, 0
for holder in pairs(ends) do
  live = live + 1
  if holder < me then
    place = place + 1
  end
end
local part = math.floor(shards / live)
if place < shards % live then
  part = part + 1
end
local held = {}
for shard = 0, shards - 1 do
  if owners[shard] == me then
    if #held < part then
      held[#held + 1] = shard
    else
      redis.call('HDEL', KEYS[1], tostring(shard))
    end
  end
end
for shard = 0, shards - 1 do
  local owner = owners[shard]
  if #held < part and owner ~= me and not (owner and ends[owner]) then
    redis.call('HSET', KEYS[1], tostring(shard), me)
    held[#held + 1] = shard
  end
end
return {part, unpack(held)}
