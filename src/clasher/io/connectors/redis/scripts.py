"""Lua scripts that a Redis server runs in one atomic step."""

from typing import Final

READ: Final = """
-- Read entries and return them in four texts: clients are slow with many small answers.
-- KEYS: the stream
-- ARGV: limit, id to read after, and optionally group and consumer
-- Returns the ids, the number of texts of each entry, their lengths, and all texts joined.
local answer
if ARGV[3] then
  answer = redis.pcall('XREADGROUP', 'GROUP', ARGV[3], ARGV[4], 'COUNT', ARGV[1],
                       'STREAMS', KEYS[1], ARGV[2])
else
  answer = redis.pcall('XREAD', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], ARGV[2])
end
if answer and answer.err then return answer end
local ids, counts, lengths, texts = {}, {}, {}, {}
for _, entry in ipairs(answer and answer[1][2] or {}) do
  local flat = entry[2] or {}
  ids[#ids + 1] = entry[1]
  counts[#counts + 1] = #flat
  for _, text in ipairs(flat) do
    lengths[#lengths + 1] = #text
    texts[#texts + 1] = text
  end
end
return {table.concat(ids, ' '), table.concat(counts, ' '), table.concat(lengths, ' '),
        table.concat(texts)}
"""

COMMIT: Final = """
-- Acknowledge entries if all of them are still ours, and store the number of the snapshot.
-- KEYS: the stream, the hash of markers
-- ARGV: group, consumer, number, number before, ids in ascending order, separated by blanks
-- Returns the outcome, and the number of our pending entries, the lost id or the stored number.
local group, consumer, number, before = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local page = 1000
local ids = {}
for id in string.gmatch(ARGV[5], '%S+') do ids[#ids + 1] = id end
local pending, summary = 0, redis.pcall('XPENDING', KEYS[1], group)
if summary.err then
  if #ids > 0 then return summary end  -- without a group there is nothing to acknowledge
else
  for _, one in ipairs(summary[4] or {}) do
    if one[1] == consumer then pending = tonumber(one[2]) end
  end
end
local stored = redis.call('HGET', KEYS[2], consumer) or '0'
if stored == number then return {'done', pending} end
if stored ~= before then return {'set back', stored} end
local at, from = 1, ids[1]
while at <= #ids do
  local found = redis.call('XPENDING', KEYS[1], group, from, ids[#ids], page, consumer)
  for _, entry in ipairs(found) do
    if entry[1] == ids[at] then at = at + 1 end
  end
  if #found < page then break end
  from = '(' .. found[page][1]
end
if at <= #ids then return {'lost', ids[at]} end
for first = 1, #ids, page do
  redis.call('XACK', KEYS[1], group, unpack(ids, first, math.min(first + page - 1, #ids)))
end
redis.call('HSET', KEYS[2], consumer, number)
return {'done', pending - #ids}
"""

CLAIM: Final = """
-- Claim entries that others left pending for long.
-- KEYS: the stream
-- ARGV: group, consumer, milliseconds, limit
-- Returns the entries, and the ids of pending entries that were trimmed, which it does not touch.
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
-- Count entries that were trimmed unread as read.
-- KEYS: the stream
-- ARGV: group, number of entries
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
-- Add an entry for each value; values come joined: clients are slow with many small ones.
-- KEYS: the stream
-- ARGV: field, number of entries to keep (0: all), lengths of the values, all values joined
local start = 1
for length in string.gmatch(ARGV[3], '%d+') do
  local stop = start + tonumber(length)
  local value = string.sub(ARGV[4], start, stop - 1)
  start = stop
  if ARGV[2] == '0' then
    redis.call('XADD', KEYS[1], '*', ARGV[1], value)
  else
    redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[2], '*', ARGV[1], value)
  end
end
"""
