---The text for statuslines. It sends no requests.
local M = {}

---@param state sessiond.Connection
---@return string
local function sign(state)
  if state.status == 'online' then
    return ''
  end
  -- During an outage, an attempt to connect is not shown as such.
  return (state.status == 'offline' or state.outages > 0) and ' (away)' or ' …'
end

---Return the title of the session and the state of the connection.
---@return string text empty if sessiond is not in use here
function M.text()
  local state = package.loaded['sessiond.connect'] and require('sessiond.connect').state()
  if not state or (state.status == 'offline' and state.outages == 0 and not state.problem) then
    return ''
  end
  local id = require('sessiond.current').id()
  local view = vim.b.sessiond_session and require('sessiond.tree.view').of(0)
  local name = id and id:sub(1, 8) or 'sessiond'
  if view and view.session then
    name = view.session.title or name
  end
  local text = require('sessiond.text')
  return text.fit(text.one_line(name), 30) .. sign(state)
end

return M
