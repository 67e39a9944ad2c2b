-- For wrk: fills the template of a signal with a key, a number and the time. The arguments are the template's file
-- and one with a key on each line.

local pieces, places, keys = {}, {}, {}
local number = 0

function init(args)
  local template = io.open(args[1], "rb"):read("*a")
  local from = 1
  for at, place, to in template:gmatch("()@(%a+)@()") do
    pieces[#pieces + 1] = template:sub(from, at - 1)
    places[#places + 1] = place
    from = to
  end
  pieces[#pieces + 1] = template:sub(from)
  for line in io.lines(args[2]) do
    keys[#keys + 1] = line
  end
end

function request()
  number = number + 1
  local values = {
    key = keys[number % #keys + 1],
    number = string.format("%010d", number),
    ts = string.format("%d000", os.time()),
  }
  local parts = {}
  for i, place in ipairs(places) do
    parts[2 * i - 1] = pieces[i]
    parts[2 * i] = values[place]
  end
  parts[#parts + 1] = pieces[#pieces]
  return table.concat(parts)
end
