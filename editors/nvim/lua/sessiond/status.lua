---A few words for a statusline. Nothing is asked of the daemon for them.
local M = {}

local SIGNS = { online = '', connecting = ' …', offline = ' (away)' }

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
  return words.fit(words.one_line(name), 30) .. (SIGNS[state.status] or '')
end

return M
