---The rows of a tree in preorder, as the daemon returns them, and the columns that are drawn before each.
---
---A row has the columns before it (`gutter`) and before its children (`below`), one character for each column: a bar
---`|`, a blank, a branch `+`, the last branch `'`. Chains add no columns, and a subtree can be replaced alone.
---@class sessiond.Row: sessiond.TreeNode
---@field gutter string
---@field below string
---@field drawn string? the line of the row, unless it is the tip

---@class sessiond.Rows
---@field list sessiond.Row[] a stretch of the tree without holes
---@field places table<string, integer> id -> place in `list`
---@field private is_cut boolean whether rows follow the last one here
---@field private roots_fork boolean? whether there are several roots; nil: not known yet
---@field private columns_above string one column for each fork above the first row
---@field private forks_above table<string, true> ids of the forks above the first row
local Rows = {}
Rows.__index = Rows

---Columns of a gutter that are stored. Fewer are drawn.
local MAX_COLUMNS = 60

local M = {}

---Return an empty list of rows.
---@return sessiond.Rows
function M.new()
  return setmetatable(
    { list = {}, places = {}, is_cut = false, columns_above = '', forks_above = {} },
    Rows
  )
end

---Return the rows of a page that was read around an entry.
---@param page sessiond.TreeResult
---@return sessiond.Rows
function M.of_page(page)
  local self = M.new()
  local columns = {}
  for index, has_more_branches in ipairs(page.bars) do
    columns[index] = has_more_branches and '|' or ' '
  end
  self.columns_above = table.concat(columns)
  for _, node in ipairs(page.above) do
    if node.childCount > 1 then
      self.forks_above[node.id] = true
    end
  end
  if page.precedingCount > 0 then
    self.roots_fork = #page.bars > vim.tbl_count(self.forks_above)
  end
  self.is_cut = page.nextCursor ~= nil
  self:add(page.nodes)
  return self
end

---Whether a row whose parent is not here begins a branch. Below the first row, all such rows do.
---@private
---@param row sessiond.Row
---@return boolean
function Rows:begins_branch(row)
  return #self.list > 0 or row.parentId == nil or self.forks_above[row.parentId] == true
end

---@private
---@param row sessiond.Row
function Rows:indent(row)
  local parent = row.parentId and self.list[self.places[row.parentId]]
  local before, is_branch = '', false
  if parent then
    before, is_branch = parent.below, parent.childCount > 1
  elseif row.parentId == nil then
    if self.roots_fork == nil then
      self.roots_fork = not row.lastSibling
    end
    is_branch = self.roots_fork
  elseif self:begins_branch(row) then
    local columns = row.indent + (self.roots_fork and 1 or 0) -- `indent` does not count the fork of several roots
    before, is_branch = self.columns_above:sub(1, columns - 1), true
  else
    before = self.columns_above
  end
  before = before:sub(-MAX_COLUMNS)
  row.gutter, row.below, row.drawn = before, before, nil
  if is_branch then
    row.gutter = before .. (row.lastSibling and "'" or '+')
    row.below = (before .. (row.lastSibling and ' ' or '|')):sub(-MAX_COLUMNS)
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

---Return the place of the last descendant of a row, or its own.
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

---Replace a subtree.
---@param place integer of its root
---@param nodes sessiond.TreeNode[] the new subtree, read with `rootId`; its root is first
---@return integer last place of the old subtree
function Rows:replace(place, nodes)
  local list, root = self.list, self.list[place]
  local last = self:last_below(place)
  local new_root = nodes[1]
  new_root.parentId, new_root.lastSibling, new_root.indent = root.parentId, root.lastSibling, root.indent
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
      each.onPath, each.drawn = on_path, nil
      first, last = first or place, place
    end
  end
  return first, last
end

---Return the row where the visible path to the leaf ends, if it is here.
---@param leaf_id string? id of the leaf, if it is known
---@param first? integer look only from this place
---@param last? integer to this
---@return sessiond.Row?
---@return integer? place
function Rows:tip(leaf_id, first, last)
  for place = last or #self.list, first or 1, -1 do
    local row = self.list[place]
    if row.onPath then
      if self.is_cut and row.id ~= leaf_id and self:last_below(place) == #self.list then
        return nil -- the path may continue in rows that are not here
      end
      return row, place
    end
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
