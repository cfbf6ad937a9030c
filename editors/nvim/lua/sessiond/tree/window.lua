---The window of a tree: its place and its options.
local M = {}

local api = vim.api
local view = require('sessiond.tree.view')

local WINDOW = {
  number = false,
  relativenumber = false,
  signcolumn = 'no',
  foldcolumn = '0',
  wrap = false,
  list = false,
  spell = false,
  cursorline = true,
  foldmethod = 'expr',
  foldexpr = "v:lua.require'sessiond.tree.folds'.level()",
  foldtext = "v:lua.require'sessiond.tree.folds'.text()",
  foldlevel = 0,
  fillchars = 'fold: ',
  winbar = "%#SessiondTitle#%{get(b:,'sessiond_title','')}%<", -- cut at the end
}

---Set the options of a window for a tree.
---@param window integer
function M.set_options(window)
  for name, value in pairs(WINDOW) do
    api.nvim_set_option_value(name, value, { win = window, scope = 'local' })
  end
end

---Show the tree of a session. If a window of the tab page shows it, go there.
---@param id string whole id of the session
---@param modifiers? string such as `vertical` or `tab`: split like this instead of as configured
---@return sessiond.Tree? tree nil: the buffer could not be read
function M.open(id, modifiers)
  require('sessiond.current').set(id)
  local buffer = vim.fn.bufadd(require('sessiond.buffers').tree_name(id))
  for _, window in ipairs(api.nvim_tabpage_list_wins(0)) do
    if api.nvim_win_get_buf(window) == buffer then
      api.nvim_set_current_win(window)
      return view.of(buffer)
    end
  end
  local chosen = require('sessiond.config').get().tree
  if modifiers and modifiers ~= '' then
    vim.cmd(modifiers .. ' split')
  elseif chosen.position ~= 'current' then
    vim.cmd(
      (chosen.position == 'left' and 'topleft' or 'botright')
        .. ' '
        .. math.min(chosen.width, math.floor(vim.o.columns * 0.6))
        .. 'vsplit'
    )
    vim.wo.winfixwidth = true
  end
  api.nvim_win_set_buf(0, buffer)
  M.set_options(0)
  return view.of(buffer)
end

return M
