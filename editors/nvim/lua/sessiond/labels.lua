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

---@param entry sessiond.LabeledEntry
---@param addition string follows the label
---@return string
local function line_of(entry, addition)
  return ('%s%s  %s: %s'):format(
    text.pad(text.fit(text.one_line(entry.label), 24), 24),
    addition,
    text.one_line(entry.role or entry.type),
    text.one_line(entry.preview)
  )
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
    local distinctions = require('sessiond.distinctions')
    local lines = distinctions.lines(labels, line_of, distinctions.label_facts, function(label)
      return label.entryId
    end)
    local choices = {}
    for place, label in ipairs(labels) do
      choices[place] = { text = lines[place], value = label.entryId, preview = { session = id, entry = label.entryId } }
    end
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
