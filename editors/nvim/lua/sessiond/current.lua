---Which session a command is about that names none: that of the buffer, else the one shown or made last.
local M = {}

---@type string?
local last

---@param id string
function M.set(id)
  if last ~= id then
    last = id
    vim.api.nvim_exec_autocmds('User', { pattern = 'SessiondStatus', modeline = false })
  end
end

---@return string?
function M.id()
  return vim.b.sessiond_session or last
end

---The session of the buffer, or the last one, or (for a session file) the one that it holds.
---@param callback fun(id: string)
function M.with(callback)
  local id = M.id()
  if id then
    callback(id)
    return
  end
  require('sessiond.sessions').pick({ prompt = 'Which session?' }, callback)
end

---The entry that the cursor is on, in a tree or in the buffer of an entry.
---@return string?
function M.entry()
  local tree = require('sessiond.tree.view').of(0)
  if tree then
    local row = tree:row()
    return row and row.id
  end
  return vim.b.sessiond_entry
end

return M
