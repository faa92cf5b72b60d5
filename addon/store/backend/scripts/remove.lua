-- Remove the copies of an object that a tombstone invalidates.
--
-- KEYS: copies, bodies, tombstone
-- ARGV: the tombstone's number (0: it has none), its time, how long it is kept, ms (0: it is not kept)
-- Returns how many were removed, then the digests of their contents that no remaining variant has.
--
-- A tombstone with a number invalidates every copy whose writer had not applied it before writing: times are not compared,
-- since the clocks of proxies may differ. One without a number invalidates the copies that were stored up to its time.

local number, until_s = tonumber(ARGV[1]), tonumber(ARGV[2])
if ARGV[3] ~= '0' then
  local known, known_s = string.match(redis.call('GET', KEYS[3]) or '', '^(%d+)|(.*)$')
  known, known_s = tonumber(known or '') or 0, tonumber(known_s or '') or -math.huge
  local latest, latest_s = math.max(known, number), math.max(known_s, until_s)
  redis.call('SET', KEYS[3], string.format('%.0f|%.17g', latest, latest_s), 'PX', ARGV[3])
end

local variants = redis.call('HGETALL', KEYS[1])
local removed, gone, used = 0, {}, {}
for i = 1, #variants, 2 do
  local digest, stored_s, rest = string.match(variants[i + 1], '^([^|]*)|([^|]*)|(.*)$')
  stored_s = tonumber(stored_s or '')
  local dead = true
  if stored_s and number == 0 then
    dead = stored_s <= until_s
  elseif stored_s then
    local applied = 0
    if string.sub(rest, 1, 2) == '\193\001' then  -- in a packed copy it stands behind the mark and a time (`packing`)
      applied = #rest >= 18 and struct.unpack('>d', rest, 11) or 0
    else
      local readable, copy = pcall(cmsgpack.unpack, rest)
      applied = readable and type(copy) == 'table' and tonumber(copy.applied or copy.heard) or 0
    end
    dead = applied < number
  end
  if dead then
    redis.call('HDEL', KEYS[1], variants[i])
    removed = removed + 1
    gone[#gone + 1] = digest
  else
    used[digest] = true
  end
end
for _, digest in ipairs(redis.call('HKEYS', KEYS[2])) do
  if not used[digest] then
    redis.call('HDEL', KEYS[2], digest)
  end
end
local answer = {removed}
for _, digest in ipairs(gone) do
  if not used[digest] then
    answer[#answer + 1] = digest
  end
end
return answer
