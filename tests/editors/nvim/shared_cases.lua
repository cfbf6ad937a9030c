-- Writes the results of the plugin for the cases that all clients share, as JSON. The argument is a file with these cases.
local file = assert(io.open(arg[1], 'rb'))
local table_of_cases = vim.json.decode(file:read('*a'))
file:close()

local uv = vim.uv
local VARIABLES = { 'HOME', 'SESSIOND_HOME', 'XDG_STATE_HOME', 'XDG_RUNTIME_DIR' }
local found = {}

---@param value any
---@return any value nil instead of the null of JSON
local function known(value)
  return value ~= vim.NIL and value or nil
end

---@param rows table[]
---@param call fun(row: table): any
local function each(rows, call)
  return vim.tbl_map(call, rows)
end

uv.chdir('/')
found.paths = each(table_of_cases.paths, function(row)
  for _, name in ipairs(VARIABLES) do
    if row.environment[name] then
      uv.os_setenv(name, row.environment[name])
    else
      uv.os_unsetenv(name)
    end
  end
  vim.g.sessiond = { home = row.option }
  local paths = require('sessiond.locations').find()
  return { state = paths.state, socket = paths.socket, endpoint = paths.endpoint, log = paths.log }
end)

uv.os_setenv('SESSIOND_HOME', arg[2])
vim.g.sessiond = nil
found.sockets = each(table_of_cases.sockets, function(row)
  local path = require('sessiond.locations').find().endpoint
  os.remove(path)
  if known(row.endpoint) then
    local endpoint = assert(io.open(path, 'wb'))
    endpoint:write(row.endpoint)
    endpoint:close()
  end
  return require('sessiond.locations').sockets()
end)

found.requests = each(table_of_cases.requests, function(row)
  return { require('sessiond.repeating').repeatable_params(row.method, row.params) }
end)

local connect = require('sessiond.connect')
vim.defer_fn = vim.schedule
local ERRORS = {
  lost = require('sessiond.repeating').disconnected(''),
  draining = { code = 0, message = '', data = { kind = 'draining' } },
  refused = { code = 0, message = '', data = { kind = 'refused' } },
}
found.outcomes = each(table_of_cases.outcomes, function(row)
  local sent, outcome = {}, nil
  connect.ensure = function(callback)
    callback(nil, {
      request = function(_, _, params, answered)
        sent[#sent + 1] = params
        local answer = row.answers[#sent]
        vim.schedule(function()
          answered(ERRORS[answer], answer == 'ok' and {} or nil)
        end)
        return true
      end,
    })
  end
  local method = row.repeatable and 'session/rename' or 'session/close'
  require('sessiond.client').request(method, { sessionId = 's' }, function(err)
    outcome = err and err.data.kind or 'ok'
  end)
  vim.wait(10000, function()
    return outcome ~= nil
  end, 1)
  return { outcome = outcome, sent = sent }
end)

local next_pause = connect.pauses()
found.pauses = each(table_of_cases.pauses, function()
  return next_pause()
end)

found.terminals = each(table_of_cases.terminals, function(row)
  local first = known(row.first)
  local id, kind = require('sessiond.terminal').identify(
    row.environment,
    first
      and {
        pid = 9,
        start = '81234',
        device = first.device,
        parent = first.parent,
        environ = known(first.environment),
        parent_environ = known(first.parentEnvironment),
      }
  )
  return { id = id or vim.NIL, kind = kind or vim.NIL }
end)

io.stdout:write(vim.json.encode(found))
