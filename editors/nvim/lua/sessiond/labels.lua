---The labels of a session, read with `session/labels`.
local M = {}

local client = require('sessiond.client')
local text = require('sessiond.text')

---Read all labeled entries of a session, in the order of the log.
---@param id string whole id of the session
---@param callback fun(err: sessiond.RpcError?, labels: sessiond.LabeledEntry[]?)
function M.read(id, callback)
  local labels = {}
  local function page(cursor)
    client.request('session/labels', { sessionId = id, cursor = cursor }, function(err, result)
      if err then
        callback(err)
        return
      end
      vim.list_extend(labels, result.items)
      if result.nextCursor then
        page(result.nextCursor)
      else
        callback(nil, labels)
      end
    end)
  end
  page(nil)
end

---Let the user choose a labeled entry, and show it in the tree.
---@param id string whole id of the session
function M.pick(id)
  local when_ready = require('sessiond.pick').begin()
  M.read(id, function(err, labels)
    local actions = require('sessiond.actions')
    if not labels then
      actions.show_error(err --[[@as sessiond.RpcError]])
      return
    elseif #labels == 0 then
      actions.show_message('No entry of this session has a label.')
      return
    end
    local choices = vim.tbl_map(function(it)
      return {
        text = ('%s  %s: %s'):format(
          text.pad(text.fit(text.one_line(it.label), 24), 24),
          text.one_line(it.role or it.type),
          text.one_line(it.preview)
        ),
        value = it.entryId,
        preview = { session = id, entry = it.entryId },
      }
    end, labels)
    when_ready(function()
      require('sessiond.pick').one({ prompt = 'Labels', choices = choices }, function(entry)
        local view = require('sessiond.tree.window').open(id)
        if view then
          view:reveal(entry)
        end
      end)
    end, function() end)
  end)
end

return M
