---Choosing one of many: by `vim.ui.select`, or by a picker that is installed and chosen. The picker's own API is
---known only to its file in `sessiond/adapters`.
local M = {}

---@class sessiond.Choice
---@field text string one line
---@field value any
---@field preview? {session: string, entry: string?} what a picker may show beside it

---@class sessiond.Question
---@field prompt string
---@field choices sessiond.Choice[]

---@type table<string, {[1]: string, [2]: string}> picker -> module that must be there, adapter
local PICKERS = {
  telescope = { 'telescope.pickers', 'sessiond.adapters.telescope' },
  snacks = { 'snacks.picker', 'sessiond.adapters.snacks' },
  ['fzf-lua'] = { 'fzf-lua', 'sessiond.adapters.fzf_lua' },
}

---@param question sessiond.Question
---@param chosen fun(value: any)
local function select(question, chosen)
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
end

---@param question sessiond.Question
---@param chosen fun(value: any) not called when nothing was chosen
function M.one(question, chosen)
  local configured = require('sessiond.config').get().picker
  local picker = PICKERS[configured]
  if picker then
    if pcall(require, picker[1]) then
      require(picker[2]).pick(question, chosen)
      return
    end
    require('sessiond.log').notify(
      ('picker = "%s", but that is not installed; vim.ui.select asks instead'):format(configured),
      vim.log.levels.WARN
    )
  end
  -- "auto": whatever a person has given vim.ui.select, which every picker offers to take over.
  select(question, chosen)
end

return M
