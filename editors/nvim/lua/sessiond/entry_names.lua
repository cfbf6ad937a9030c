---Names of entries as the user types them: an id, a label, or `@` for the leaf.
local M = {}

local client = require('sessiond.client')

---The name of the leaf.
M.LEAF = '@'

---Entries at the end of the session whose ids are completed.
local NEWEST = 200
---Milliseconds that a completion waits for the daemon.
local COMPLETION_TIMEOUT = 2000

---@param id string whole id of the session
---@param label string
---@param callback fun(entry: string)
local function find_label(id, label, callback)
  require('sessiond.labels').read(id, function(err, labels)
    local actions = require('sessiond.actions')
    if not labels then
      actions.show_error(err --[[@as sessiond.RpcError]])
      return
    end
    local entries = {}
    for _, named in ipairs(labels) do
      if named.label == label then
        entries[#entries + 1] = named.entryId
      end
    end
    if #entries > 1 then
      actions.show_error({
        code = 0,
        message = ("Entry name '%s' is ambiguous: %s."):format(label, table.concat(entries, ', ')),
      })
    else
      callback(entries[1] or label) -- for an unknown name, the daemon's error lists similar ids
    end
  end)
end

---Find the id of an entry by its name.
---@param id string whole id of the session
---@param name string an id, a label or `@`
---@param callback fun(entry: string) not called if the name is ambiguous or the session has no leaf
function M.resolve(id, name, callback)
  local actions = require('sessiond.actions')
  if name == M.LEAF then
    actions.request('session/info', { sessionId = id }, function(result)
      if result.session.leafId then
        callback(result.session.leafId)
      else
        actions.show_message('The session has no leaf yet.')
      end
    end)
    return
  end
  -- An id is used as it is, also if an entry has it as its label.
  client.request('session/tree', { sessionId = id, rootId = name, filter = 'all', limit = 1 }, function(err)
    if err then
      find_label(id, name, callback)
    else
      callback(name)
    end
  end)
end

---Complete the name of an entry of the current session: a label, `@`, or the id of one of the newest entries.
---@param lead string
---@return string[] names with blanks escaped, as the command line takes them
function M.complete(lead)
  local id = require('sessiond.current').id()
  if not id then
    return {}
  end
  local labels = client.call('session/labels', { sessionId = id }, COMPLETION_TIMEOUT)
  local newest = client.call(
    'session/entries',
    { sessionId = id, direction = 'backward', limit = NEWEST },
    COMPLETION_TIMEOUT
  )
  local names, seen = {}, {}
  local function add(name)
    name = name:gsub('%s', '\\%0')
    if vim.startswith(name, lead) and not seen[name] then
      seen[name] = true
      names[#names + 1] = name
    end
  end
  for _, label in ipairs(labels and labels.items or {}) do
    add(require('sessiond.text').one_line(label.label))
  end
  for _, item in ipairs(newest and newest.items or {}) do
    if type(item.entry.id) == 'string' then
      add(item.entry.id)
    end
  end
  add(M.LEAF)
  return names
end

return M
