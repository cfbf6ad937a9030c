---The rows of a tree in preorder, as the daemon answers them, and what drawing them needs to know.
---
---A row knows the columns before it (`gutter`) and before its children (`below`), one character for each: a
---bar `|`, a blank, a fork `+`, a last one `'`. So a chain costs nothing, and a subtree can be drawn anew alone.
---@class sessiond.Row: sessiond.TreeNode
---@field gutter string
---@field below string

---@class sessiond.Rows
---@field list sessiond.Row[]
---@field places table<string, integer> id -> place in `list`
---@field private roots_fork boolean?
local Rows = {}
Rows.__index = Rows

---Columns that are kept of a gutter: more is never shown.
local DEEPEST = 60

local M = {}

---@return sessiond.Rows
function M.new()
  return setmetatable({ list = {}, places = {} }, Rows)
end

---@private
---@param row sessiond.Row
function Rows:indent(row)
  local parent = row.parentId and self.list[self.places[row.parentId]]
  local before, forks = '', nil
  if parent then
    before, forks = parent.below, parent.childCount > 1
  else
    if self.roots_fork == nil then
      self.roots_fork = not row.lastSibling
    end
    forks = self.roots_fork
  end
  row.gutter, row.below = before, before
  if forks then
    row.gutter = before .. (row.lastSibling and "'" or '+')
    row.below = (before .. (row.lastSibling and ' ' or '|')):sub(-DEEPEST)
  end
end

---Add a page at the end.
---@param nodes sessiond.TreeNode[]
function Rows:add(nodes)
  for _, node in ipairs(nodes) do
    local row = node --[[@as sessiond.Row]]
    self:indent(row)
    self.list[#self.list + 1] = row
    self.places[row.id] = #self.list
  end
end

---@param id string?
---@return sessiond.Row?
---@return integer? place
function Rows:get(id)
  local place = id and self.places[id]
  if place then
    return self.list[place], place
  end
end

---The last place of what hangs on a row, itself included.
---@param place integer
---@return integer
function Rows:last_below(place)
  local depth = self.list[place].depth
  local last = place
  while self.list[last + 1] and self.list[last + 1].depth > depth do
    last = last + 1
  end
  return last
end

---Put what the daemon says of a subtree in the place of what was known of it.
---@param place integer of its root
---@param nodes sessiond.TreeNode[] of the subtree alone, its root first
---@return integer last place of the old subtree
function Rows:replace(place, nodes)
  local list, root = self.list, self.list[place]
  local last = self:last_below(place)
  local new_root = nodes[1]
  new_root.parentId, new_root.lastSibling = root.parentId, root.lastSibling
  local after = {}
  table.move(list, last + 1, #list, 1, after)
  local depth = root.depth
  for old = place, last do
    self.places[list[old].id] = nil
  end
  for index = #list, place, -1 do
    list[index] = nil
  end
  for _, node in ipairs(nodes) do
    node.depth = node.depth + depth
  end
  self:add(nodes)
  local moved = #list
  table.move(after, 1, #after, moved + 1, list)
  for index = moved + 1, #list do
    self.places[list[index].id] = index
  end
  return last
end

---Mark the path to a row, and no other row.
---@param tip sessiond.Row? nil: the leaf is before the first entry
---@return integer? first place whose mark changed
---@return integer? last
function Rows:mark_path(tip)
  local path, row = {}, tip
  while row do
    path[row] = true
    row = self:get(row.parentId)
  end
  local first, last
  for place, each in ipairs(self.list) do
    local on_path = path[each] == true
    if on_path ~= each.onPath then
      each.onPath = on_path
      first, last = first or place, place
    end
  end
  return first, last
end

---The row where the path to the leaf ends, as far as it is shown.
---@param first? integer look only from this place
---@param last? integer to this
---@return sessiond.Row?
---@return integer? place
function Rows:tip(first, last)
  for place = last or #self.list, first or 1, -1 do
    if self.list[place].onPath then
      return self.list[place], place
    end
  end
end

---The place of the next row for which `holds`, going `step` (1 or -1) from `place`.
---@param place integer
---@param step 1|-1
---@param holds fun(row: sessiond.Row): boolean
---@return integer?
function Rows:next(place, step, holds)
  local at = place + step
  while self.list[at] do
    if holds(self.list[at]) then
      return at
    end
    at = at + step
  end
end

return M
