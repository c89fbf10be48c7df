"""What runs on a Redis server in one step, where nobody can come in between."""

from __future__ import annotations

from typing import Final

COMMIT: Final = """
-- Acknowledge entries, if all of them are still ours, and store the number of the snapshot.
-- KEYS: the stream, the hash of markers
-- ARGV: group, consumer, number, number before, ids in ascending order
local group, consumer, number, before = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local said = redis.call('HGET', KEYS[2], consumer) or '0'
if said == number then return {'done', said} end
if said ~= before then return {'set back', said} end
local page = 1000
if #ARGV > 4 then
  local owned, from, last = {}, ARGV[5], ARGV[#ARGV]
  while true do
    local found = redis.call('XPENDING', KEYS[1], group, from, last, page, consumer)
    for _, entry in ipairs(found) do owned[entry[1]] = true end
    if #found < page then break end
    from = '(' .. found[page][1]
  end
  for at = 5, #ARGV do
    if not owned[ARGV[at]] then return {'lost', ARGV[at]} end
  end
  for at = 5, #ARGV, page do
    redis.call('XACK', KEYS[1], group, unpack(ARGV, at, math.min(at + page - 1, #ARGV)))
  end
end
redis.call('HSET', KEYS[2], consumer, number)
return {'done', number}
"""

CLAIM: Final = """
-- Take over entries that others have left pending for long.
-- KEYS: the stream
-- ARGV: group, consumer, milliseconds, how many at most
-- Returns the entries, and the ids of those that are pending and no longer there, left as they are.
local group, consumer, idle, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local taken, gone = {}, {}
local from, page = '-', 100
while #taken < most do
  local found = redis.call('XPENDING', KEYS[1], group, 'IDLE', idle, from, '+', page)
  for _, pending in ipairs(found) do
    local id = pending[1]
    if pending[2] ~= consumer and #taken < most then
      if #redis.call('XRANGE', KEYS[1], id, id) == 0 then
        gone[#gone + 1] = id
      else
        taken[#taken + 1] = redis.call('XCLAIM', KEYS[1], group, consumer, idle, id)[1]
      end
    end
  end
  if #found < page then break end
  from = '(' .. found[page][1]
end
return {taken, gone}
"""

REBASE: Final = """
-- Count entries that were trimmed unread as read: the loss of them is accepted.
-- KEYS: the stream
-- ARGV: group, how many
for _, flat in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local info = {}
  for at = 1, #flat, 2 do info[flat[at]] = flat[at + 1] end
  if info['name'] == ARGV[1] and info['entries-read'] then
    redis.call('XGROUP', 'SETID', KEYS[1], ARGV[1], info['last-delivered-id'],
               'ENTRIESREAD', info['entries-read'] + ARGV[2])
  end
end
"""

APPEND: Final = """
-- Add an entry for each value.
-- KEYS: the stream
-- ARGV: field, how many entries to keep (0: all), values
for at = 3, #ARGV do
  if ARGV[2] == '0' then
    redis.call('XADD', KEYS[1], '*', ARGV[1], ARGV[at])
  else
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', ARGV[1], ARGV[at])
  end
end
"""
