---A few words for a statusline. Nothing is asked of the daemon for them.
local M = {}

---@param state sessiond.Connection
---@return string
local function sign(state)
  if state.status == 'online' then
    return ''
  end
  -- Between two looks for a daemon that is away it is still away, not being connected to.
  return (state.status == 'offline' or state.outages > 0) and ' (away)' or ' …'
end

---@return string empty when nothing of sessiond is in use here
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
  local words = require('sessiond.text')
  return words.fit(words.one_line(name), 30) .. sign(state)
end

return M
