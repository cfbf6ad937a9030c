---What a person chose: `vim.g.sessiond` (a table), `setup()`, and the defaults under both.
local M = {}

---@class sessiond.TreeConfig
---@field filter sessiond.Filter which entries are shown at first
---@field position 'left'|'right'|'current' where the window opens
---@field width integer columns of that window
---@field follow boolean the cursor goes along with the leaf when it stands on it
---@field ascii boolean draw without box characters and circles
---@field time boolean show how long ago an entry was
---@field page integer rows that are asked for at once
---@field keys table<string, string|false> key -> action; false leaves a key alone

---@class sessiond.Config
---@field command string[]? how the `sessiond` command is started; without it, `sessiond` of the PATH
---@field home string? SESSIOND_HOME, for this Neovim and the daemon that it starts
---@field autostart boolean start the daemon when something is asked of it
---@field lsp boolean attach to `*.jsonl` files that are sessions
---@field notify boolean say once when the daemon went away, and when it is back
---@field picker 'auto'|'select'|'telescope'|'snacks'|'fzf-lua' how sessions and hits are chosen
---@field timeout integer milliseconds that a call which waits may take
---@field log_level integer of `vim.log.levels`
---@field tree sessiond.TreeConfig

---@alias sessiond.Filter 'default'|'noTools'|'userOnly'|'labeledOnly'|'all'

---@type sessiond.Filter[]
M.FILTERS = { 'default', 'noTools', 'userOnly', 'labeledOnly', 'all' }
M.PICKERS = { 'auto', 'select', 'telescope', 'snacks', 'fzf-lua' }

---@type sessiond.Config
M.DEFAULTS = {
  command = nil,
  home = nil,
  autostart = true,
  lsp = true,
  notify = true,
  picker = 'auto',
  timeout = 10000,
  log_level = vim.log.levels.INFO,
  tree = {
    filter = 'default',
    position = 'left',
    width = 60,
    follow = true,
    ascii = false,
    time = false,
    page = 2000,
    keys = {},
  },
}

---What each option must be: types as `type()` names them, or a list of the values it may have.
---@type table<string, (string|string[])[]>
local KINDS = {
  command = { 'nil', 'table' },
  home = { 'nil', 'string' },
  autostart = { 'boolean' },
  lsp = { 'boolean' },
  notify = { 'boolean' },
  picker = { M.PICKERS },
  timeout = { 'number' },
  log_level = { 'number' },
  tree = { 'table' },
  ['tree.filter'] = { M.FILTERS },
  ['tree.position'] = { { 'left', 'right', 'current' } },
  ['tree.width'] = { 'number' },
  ['tree.follow'] = { 'boolean' },
  ['tree.ascii'] = { 'boolean' },
  ['tree.time'] = { 'boolean' },
  ['tree.page'] = { 'number' },
  ['tree.keys'] = { 'table' },
}

---@type table? what `setup` was given
local given
---@type sessiond.Config?
local merged
---@type any the `vim.g.sessiond` that `merged` was made of
local seen

---@param name string
---@param value any
---@return string? problem
local function problem_of(name, value)
  local kinds = KINDS[name]
  if not kinds then
    return ('there is no option `%s`'):format(name)
  end
  local expected = {}
  for _, kind in ipairs(kinds) do
    if type(kind) == 'table' then
      if vim.tbl_contains(kind, value) then
        return nil
      end
      expected[#expected + 1] = "'" .. table.concat(kind, "', '") .. "'"
    elseif type(value) == kind then
      return nil
    else
      expected[#expected + 1] = kind
    end
  end
  return ('`%s` must be %s, not %s'):format(name, table.concat(expected, ' or '), vim.inspect(value))
end

---@param options table
---@param prefix string
---@param problems string[]
local function look_at(options, prefix, problems)
  for name, value in pairs(options) do
    local whole = prefix .. tostring(name)
    local problem = problem_of(whole, value)
    if problem then
      problems[#problems + 1] = problem
    elseif whole == 'tree' then
      look_at(value, 'tree.', problems)
    end
  end
end

---What is wrong with what was chosen, a sentence each; empty when all is well.
---@return string[]
function M.problems()
  local problems = {}
  for _, options in ipairs({ vim.g.sessiond or {}, given or {} }) do
    if type(options) == 'table' then
      look_at(options, '', problems)
    else
      problems[#problems + 1] = '`vim.g.sessiond` must be a table'
    end
  end
  local actions = require('sessiond.tree.keys').ACTIONS
  for key, action in pairs(M.get().tree.keys) do
    if action ~= false and not actions[action] then
      problems[#problems + 1] = ('`tree.keys`: %s is to do %s, and there is no such action'):format(
        key,
        vim.inspect(action)
      )
    end
  end
  table.sort(problems)
  return problems
end

---@param options any
---@return table without what is wrong in it
local function valid_options(options)
  if type(options) ~= 'table' then
    return {}
  end
  local valid = {}
  for name, value in pairs(options) do
    if not problem_of(name, value) then
      valid[name] = value
    end
  end
  if valid.tree then
    local tree = {}
    for name, value in pairs(valid.tree) do
      if not problem_of('tree.' .. tostring(name), value) then
        tree[name] = value
      end
    end
    valid.tree = tree
  end
  return valid
end

---The configuration in force. An option that is wrong counts as not chosen; `:checkhealth sessiond` names it.
---@return sessiond.Config
function M.get()
  local global = vim.g.sessiond
  if not merged or not vim.deep_equal(seen, global) then
    seen = global
    merged = vim.tbl_deep_extend('force', M.DEFAULTS, valid_options(global), valid_options(given)) --[[@as sessiond.Config]]
  end
  return merged
end

---@param options? table as `vim.g.sessiond`, over which it wins
function M.set(options)
  given, merged = options or {}, nil
  local problems = M.problems()
  if #problems > 0 then
    require('sessiond.log').notify('setup(): ' .. table.concat(problems, '; '), vim.log.levels.WARN)
  end
end

return M
