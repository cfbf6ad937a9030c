---Choosing one of several: with `vim.ui.select`, or with the configured picker plugin. Only its file in
---`sessiond/adapters` uses the functions of that plugin.
local M = {}

---@class sessiond.Choice
---@field text string one line
---@field value any
---@field preview? {session: string, entry: string?, leaf: string?} the entry, or the end of the session, that a picker
---may show beside it

---@class sessiond.Question
---@field prompt string
---@field choices sessiond.Choice[]
---@field observe? fun(update: fun(choices: sessiond.Choice[])) `update` receives all choices when they change
---@field close? fun() end the updates; a picker that observes calls it when it closes

---@class sessiond.PickerAdapter
---@field is_live? boolean whether the picker observes the question and closes it
---@field pick fun(question: sessiond.Question, chosen: fun(value: any), options?: table)

---@type table<string, {[1]: string, [2]: string}> picker -> the module that it requires, its adapter
local PICKERS = {
  telescope = { 'telescope.pickers', 'sessiond.adapters.telescope' },
  snacks = { 'snacks.picker', 'sessiond.adapters.snacks' },
  ['fzf-lua'] = { 'fzf-lua', 'sessiond.adapters.fzf_lua' },
}

---@type sessiond.PickerAdapter
local select = {
  pick = function(question, chosen)
    vim.ui.select(question.choices, {
      prompt = question.prompt,
      kind = 'sessiond',
      format_item = function(choice)
        return choice.text
      end,
    }, function(choice)
      if choice then
        chosen(choice.value)
      end
    end)
  end,
}

---@return sessiond.PickerAdapter
local function configured_adapter()
  local configured = require('sessiond.config').get().picker
  local picker = PICKERS[configured]
  if not picker then
    return select -- "auto": picker plugins offer to replace vim.ui.select
  end
  if pcall(require, picker[1]) then
    return require(picker[2])
  end
  require('sessiond.log').notify(
    ('picker = "%s", but it is not installed; using vim.ui.select'):format(configured),
    vim.log.levels.WARN
  )
  return select
end

---How many commands and pickers were begun.
local begun = 0

---Begin a command or a picker. Pickers that were begun earlier and are not shown yet are not shown any more.
---@return fun(show: fun(), drop: fun()) when_ready calls `show`, or `drop` if another command has begun meanwhile. While
---the user types a command, it waits: a picker would take the keys.
function M.begin()
  begun = begun + 1
  local number = begun
  local function when_ready(show, drop)
    if number ~= begun then
      drop()
    elseif vim.fn.mode() == 'c' then
      vim.api.nvim_create_autocmd('CmdlineLeave', {
        once = true,
        callback = vim.schedule_wrap(function()
          when_ready(show, drop)
        end),
      })
    else
      show()
    end
  end
  return when_ready
end

---Let the user choose.
---@param question sessiond.Question
---@param chosen fun(value: any) not called if the user cancels
function M.one(question, chosen)
  local adapter = configured_adapter()
  if question.close and not adapter.is_live then
    question.close()
  end
  adapter.pick(question, chosen)
end

return M
