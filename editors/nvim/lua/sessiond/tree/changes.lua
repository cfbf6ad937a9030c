---Applies notifications of a session to its tree: what can be shown at once is shown, the rest is read again.
local M = {}

local client = require('sessiond.client')

---Whether filters hide a row unless it is the leaf: a turn without text.
---@param tree sessiond.Tree
---@param row sessiond.Row
---@return boolean
local function may_hide(tree, row)
  return (tree.filter == 'default' or tree.filter == 'noTools')
    and row.role == 'assistant'
    and (row.preview == '' or vim.startswith(row.preview, '['))
end

---Show the path to the leaf of the tree.
---@param tree sessiond.Tree
---@param before string? id of the former leaf
local function move_leaf(tree, before)
  local tip = tree.canvas.rows:get(tree.leaf_id)
  if not tree.loader:is_current() or (tree.leaf_id and not tip) then
    tree.loader:leaf_moved()
    tree.loader:refresh()
    return
  end
  tree.loader:leaf_moved()
  tree.canvas:show_path(tip)
  local former = tree.canvas.rows:get(before)
  if former and former ~= tip and may_hide(tree, former) then
    tree.loader:refresh_below(former.id)
  end
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
    move_leaf(tree, before)
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
  local tip = tree.canvas.tip
  for _, item in ipairs(note.items) do
    local parent = item.entry.parentId
    if tree.canvas.rows.places[parent] then
      tree.loader:refresh_below(parent)
    elseif tip and parent == before then -- the parent is hidden below the tip
      tree.loader:refresh_below(tip.id)
    elseif parent == nil or not tip or not ids[parent] then
      tree.loader:refresh()
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
