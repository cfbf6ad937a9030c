---The configuration: the defaults, overridden by the table `vim.g.sessiond`, overridden by the options of `setup()`.
local M = {}

---@class sessiond.TreeConfig
---@field filter sessiond.Filter which entries are shown at first
---@field position 'left'|'right'|'current' where the window opens
---@field width integer columns of that window
---@field follow boolean whether a cursor on the leaf moves with it
---@field ascii boolean draw without box characters and circles
---@field time boolean show how long ago an entry was
---@field keys table<string, string|false> key -> action; false does not map the key

---@class sessiond.Config
---@field command string[]? the command of sessiond; default: `sessiond` on the PATH
---@field home string? SESSIOND_HOME, for this Neovim and the daemon that it starts
---@field autostart boolean whether a request starts the daemon
---@field lsp boolean attach to `*.jsonl` files that are sessions
---@field notify boolean whether the user is notified once of an outage, and of its end
---@field automated boolean whether lists show automated sessions: runs of `claude -p`, `codex exec` and SDKs
---@field picker 'auto'|'select'|'telescope'|'snacks'|'fzf-lua' the picker of sessions and labels
---@field timeout integer maximum milliseconds of a call that waits
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
  automated = false,
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
    keys = {},
  },
}

---The types of each option, as `type()` returns them, or a list of its values.
---@type table<string, (string|string[])[]>
local KINDS = {
  command = { 'nil', 'table' },
  home = { 'nil', 'string' },
  autostart = { 'boolean' },
  lsp = { 'boolean' },
  notify = { 'boolean' },
  automated = { 'boolean' },
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
  ['tree.keys'] = { 'table' },
}

---Options of former versions, and why they are gone.
---@type table<string, string>
local FORMER = {
  ['tree.page'] = 'the daemon sends the rows of a tree by itself',
}

---@type table? the options of `setup`
local setup_options
---@type sessiond.Config?
local effective
---@type any the `vim.g.sessiond` from which `effective` was made
local merged_from

---@param name string
---@param value any
---@return string? problem
local function problem_of(name, value)
  if FORMER[name] then
    return ('`%s` is not used any more: %s'):format(name, FORMER[name])
  end
  local kinds = KINDS[name]
  if not kinds then
    return ('unknown option `%s`'):format(name)
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
local function collect_problems(options, prefix, problems)
  for name, value in pairs(options) do
    local whole = prefix .. tostring(name)
    local problem = problem_of(whole, value)
    if problem then
      problems[#problems + 1] = problem
    elseif whole == 'tree' then
      collect_problems(value, 'tree.', problems)
    end
  end
end

---Return the problems of the configuration, one phrase each.
---@return string[]
function M.problems()
  local problems = {}
  for _, options in ipairs({ vim.g.sessiond or {}, setup_options or {} }) do
    if type(options) == 'table' then
      collect_problems(options, '', problems)
    else
      problems[#problems + 1] = '`vim.g.sessiond` must be a table'
    end
  end
  local actions = require('sessiond.tree.keys').ACTIONS
  for key, action in pairs(M.get().tree.keys) do
    if action ~= false and not actions[action] then
      problems[#problems + 1] = ('`tree.keys`: %s has the unknown action %s'):format(
        key,
        vim.inspect(action)
      )
    end
  end
  table.sort(problems)
  return problems
end

---@param options any
---@return table options without the invalid ones
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

---Return the effective configuration. An invalid option is ignored; `:checkhealth sessiond` names it.
---@return sessiond.Config
function M.get()
  local global = vim.g.sessiond
  if not effective or not vim.deep_equal(merged_from, global) then
    merged_from = global
    effective = vim.tbl_deep_extend('force', M.DEFAULTS, valid_options(global), valid_options(setup_options)) --[[@as sessiond.Config]]
  end
  return effective
end

---Set options, and warn about invalid ones.
---@param options? table options like those of `vim.g.sessiond`, which they override
function M.set(options)
  setup_options, effective = options or {}, nil
  local problems = M.problems()
  if #problems > 0 then
    require('sessiond.log').notify('setup(): ' .. table.concat(problems, '; '), vim.log.levels.WARN)
  end
end

return M
