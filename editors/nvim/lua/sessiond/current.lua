---The session and the entry that commands use by default: those of the buffer, else the session shown last.
local M = {}

---@type string?
local last

---Make a session the default one.
---@param id string whole id
function M.set(id)
  if last ~= id then
    last = id
    vim.api.nvim_exec_autocmds('User', { pattern = 'SessiondStatus', modeline = false })
  end
end

---Return the default session.
---@return string? id nil: none was shown yet
function M.id()
  return vim.b.sessiond_session or last
end

---Call a function with the default session. If there is none, the user chooses one.
---@param callback fun(id: string) not called if the user cancels
function M.with(callback)
  local id = M.id()
  if id then
    callback(id)
    return
  end
  require('sessiond.sessions').pick({ prompt = 'Which session?' }, callback)
end

---Return the entry under the cursor in a tree, or that of the buffer of an entry.
---@return string? entry nil: the buffer is neither
function M.entry()
  local tree = require('sessiond.tree.view').of(0)
  if tree then
    local row = tree:row()
    return row and row.id
  end
  return vim.b.sessiond_entry
end

return M
