---Applies notifications of a session to its tree: what can be shown at once is shown, the rest is read again.
local M = {}

local client = require('sessiond.client')

---Read the rows whose places change with a path that ends at or below a row.
---@param tree sessiond.Tree
---@param row sessiond.Row? nil: it is not known
local function refresh_path(tree, row)
  local changed = tree.canvas.rows:on_path_above(row)
  if changed then
    tree.loader:refresh_below(changed.id)
  else
    tree.loader:refresh()
  end
end

---@param tree sessiond.Tree
local function move_leaf(tree)
  refresh_path(tree, (tree.canvas.rows:get(tree.leaf_id)))
  client.request('session/info', { sessionId = tree.id }, function(err, result)
    if not err then
      tree:set_session(result.session)
      tree.total = result.session.entryCount
      tree:show_title()
    end
  end)
end

---@param tree sessiond.Tree
---@param entry table
local function set_label(tree, entry)
  if tree.filter == 'labeledOnly' or tree.query then
    tree.loader:refresh()
    return
  end
  local label = type(entry.label) == 'string' and entry.label ~= '' and entry.label or nil
  tree.canvas:set_label(entry.targetId, label)
  tree.loader:labeled(entry.targetId, label)
end

---Apply `session/appended`.
---@param tree sessiond.Tree
---@param note sessiond.AppendedNote
function M.appended(tree, note)
  local before = tree.leaf_id
  tree.leaf_id = note.leafId
  if #note.items == 1 and note.items[1].entry.type == 'leaf' then
    move_leaf(tree)
    return
  end
  local ids = {}
  for _, item in ipairs(note.items) do
    ids[item.entry.id] = true
    if item.entry.type == 'leaf' then
      tree.loader:refresh()
    elseif item.entry.type == 'label' then
      set_label(tree, item.entry)
    end
  end
  local rows, tip = tree.canvas.rows, tree.canvas.tip
  for _, item in ipairs(note.items) do
    local parent = item.entry.parentId
    if not ids[parent] then
      refresh_path(tree, rows:get(parent) or (parent == before and tip or nil)) -- a hidden parent is below the tip
    end
  end
end

---Apply `session/leafMoved`.
---@param tree sessiond.Tree
---@param note sessiond.LeafMovedNote
function M.leaf_moved(tree, note)
  if note.leafId ~= tree.leaf_id then -- otherwise `session/appended` has moved it
    tree.leaf_id = note.leafId
    tree.loader:refresh()
  end
end

return M
