-- Take the lease of a contact, unless another process has it, and read the stored copies of its object.
--
-- A lease that another process waits for ends with `!`.
--
-- KEYS: contact, copies
-- ARGV: token, ms of the lease, the channel, the digest of the contact
-- Returns whether the lease was taken, ms that it lasts, the copies, and the time, ms.

local holder, lease = redis.call('GET', KEYS[1]), tonumber(ARGV[2])
local copies, now = redis.call('HVALS', KEYS[2]), redis.call('TIME')
local now_ms = now[1] * 1000 + math.floor(now[2] / 1000)
if not holder then
  redis.call('SET', KEYS[1], ARGV[1], 'PX', lease)
  return {1, lease, copies, now_ms}
end
local remaining = redis.call('PTTL', KEYS[1])
if remaining < 0 or remaining > lease then  -- not written by bestbefore
  redis.call('PEXPIRE', KEYS[1], lease)
  remaining = lease
end
if string.sub(holder, -1) ~= '!' then
  redis.call('APPEND', KEYS[1], '!')
  redis.call('PUBLISH', ARGV[3], ARGV[4] .. ' awaited')
end
return {0, remaining, copies, now_ms}
