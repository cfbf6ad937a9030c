---The rows of a tree in the order of the daemon's layout `path`.
---
---The path to the leaf has no columns before it. Below a fork come its other branches, and then the path goes on.
---@class sessiond.Row: sessiond.TreeNode
---@field drawn string? the line of the row, unless it is the tip

---@class sessiond.Rows
---@field list sessiond.Row[] a range of the tree without gaps
---@field places table<string, integer> id -> place in `list`
---@field tip sessiond.Row? where the visible path to the leaf ends, if that row is here
local Rows = {}
Rows.__index = Rows

local M = {}

---Return an empty list of rows.
---@return sessiond.Rows
function M.new()
  return setmetatable({ list = {}, places = {} }, Rows)
end

---Return whether a row is the first one of a branch.
---@param row sessiond.Row
---@return boolean
function M.begins_branch(row)
  return row.gutter:find("[+']$") ~= nil
end

---Return other rows that are equal.
---@return sessiond.Rows
function Rows:copy()
  local other = M.new()
  other:splice(0, 0, self.list)
  other.tip = self.tip
  return other
end

---Replace consecutive rows.
---@param place integer the number of rows before them
---@param removed integer the number of rows to remove
---@param nodes sessiond.TreeNode[] the rows in their place
function Rows:splice(place, removed, nodes)
  local list, places = self.list, self.places
  local count, more = #list, #nodes - removed
  for at = place + 1, place + removed do
    if places[list[at].id] == at then -- otherwise a change before has put it elsewhere
      places[list[at].id] = nil
    end
  end
  if more ~= 0 then
    table.move(list, place + removed + 1, count, place + #nodes + 1)
    for at = count + more + 1, count do
      list[at] = nil
    end
  end
  for index, node in ipairs(nodes) do
    list[place + index] = node --[[@as sessiond.Row]]
  end
  for at = place + 1, more == 0 and place + #nodes or #list do
    places[list[at].id] = at
  end
end

---Apply a notification of the watch.
---@param note sessiond.TreeChangedNote
---@return integer? first place of the rows that look different now, apart from those that were sent
---@return integer? last
function Rows:apply(note)
  for _, change in ipairs(note.changes) do
    self:splice(change.place, change.removed, change.nodes)
  end
  local labels = {}
  for _, label in ipairs(note.labels) do
    labels[label.entryId] = label
  end
  local has_labels = next(labels) ~= nil
  local stop = note.pathEnd and note.pathEnd - note.precedingCount + 1 or 0
  local tip = self.list[stop]
  local first, last
  for place, row in ipairs(self.list) do
    local on_path = row.indent == 0 and place <= stop
    local label = has_labels and labels[row.id]
    if row.onPath ~= on_path or label or (row == self.tip) ~= (row == tip) then
      row.onPath, row.drawn = on_path, nil
      if label then
        row.label = label.label
      end
      first, last = first or place, place
    end
  end
  self.tip = tip
  return first, last
end

---Return a row by its id.
---@param id string?
---@return sessiond.Row?
---@return integer? place
function Rows:get(id)
  local place = id and self.places[id]
  if place then
    return self.list[place], place
  end
end

---Return the place of a row, or of its nearest ancestor, in other rows.
---@param row sessiond.Row
---@param other sessiond.Rows
---@return integer?
function Rows:nearest_in(row, other)
  local candidate = row ---@type sessiond.Row?
  while candidate do
    local place = other.places[candidate.id] or other.places[candidate.parentId or '']
    if place then
      return place
    end
    candidate = self:get(candidate.parentId)
  end
end

---Return the place of the next row for which `holds`, in the direction `step` from `place`.
---@param place integer
---@param step 1|-1
---@param holds fun(row: sessiond.Row, place: integer): boolean
---@return integer?
function Rows:next(place, step, holds)
  local at = place + step
  while self.list[at] do
    if holds(self.list[at], at) then
      return at
    end
    at = at + step
  end
end

return M
