---The rows of a tree in the order of the daemon's layout `path`.
---
---The path to the leaf has no columns before it. Below a fork come its other branches, and then the path goes on. So a
---row and its descendants are consecutive, and a subtree can be replaced alone.
---@class sessiond.Row: sessiond.TreeNode
---@field drawn string? the line of the row, unless it is the tip

---@class sessiond.Rows
---@field list sessiond.Row[] a range of the tree without gaps
---@field places table<string, integer> id -> place in `list`
---@field private is_cut boolean whether rows follow the last one here
local Rows = {}
Rows.__index = Rows

local M = {}

---Return an empty list of rows.
---@return sessiond.Rows
function M.new()
  return setmetatable({ list = {}, places = {}, is_cut = false }, Rows)
end

---Return the rows of a page that was read around an entry.
---@param page sessiond.TreeResult
---@return sessiond.Rows
function M.of_page(page)
  local self = M.new()
  self.is_cut = page.nextCursor ~= nil
  self:add(page.nodes)
  return self
end

---Return whether a row is the first one of a branch.
---@param row sessiond.Row
---@return boolean
function M.begins_branch(row)
  return row.gutter:find("[+']$") ~= nil
end

---Add a page at the end.
---@param nodes sessiond.TreeNode[]
function Rows:add(nodes)
  for _, node in ipairs(nodes) do
    self.list[#self.list + 1] = node --[[@as sessiond.Row]]
    self.places[node.id] = #self.list
  end
end

---Return whether the rows of a branch are not here.
---@return boolean
function Rows:has_folded_branch()
  return vim.iter(self.list):any(function(row)
    return row.hiddenCount > 0
  end)
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
  local indent, last = self.list[place].indent, place
  local row = self.list[last + 1]
  while row and (row.indent > indent or (row.indent == indent and not M.begins_branch(row))) do
    last = last + 1
    row = self.list[last + 1]
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
  local columns = root.gutter:gsub('%+$', '|'):gsub("'$", ' ')
  for _, node in ipairs(nodes) do
    node.gutter, node.indent, node.depth = columns .. node.gutter, root.indent + node.indent, root.depth + node.depth
  end
  nodes[1].parentId, nodes[1].lastSibling, nodes[1].gutter = root.parentId, root.lastSibling, root.gutter
  local after = {}
  table.move(list, last + 1, #list, 1, after)
  for old = place, last do
    self.places[list[old].id] = nil
  end
  for index = #list, place, -1 do
    list[index] = nil
  end
  self:add(nodes)
  local moved = #list
  table.move(after, 1, #after, moved + 1, list)
  for index = moved + 1, #list do
    self.places[list[index].id] = index
  end
  return last
end

---Return the row, or its nearest ancestor, that is on the path to the leaf. All changes of a path that ends below the
---row are in the subtree of that row.
---@param row sessiond.Row?
---@return sessiond.Row?
function Rows:on_path_above(row)
  while row and not row.onPath do
    row = self:get(row.parentId)
  end
  return row
end

---Return the row where the visible path to the leaf ends, if it is here.
---@param leaf_id string? id of the leaf, if it is known
---@return sessiond.Row?
function Rows:tip(leaf_id)
  local goes_on = self.is_cut -- whether the path may continue in rows that are not here
  for place = #self.list, 1, -1 do
    local row = self.list[place]
    if row.onPath then
      return (not goes_on or row.id == leaf_id) and row or nil
    end
    goes_on = goes_on and row.indent > 0
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
