---The keys of a tree, in a floating window over it.
local M = {}

local api = vim.api

---@type integer?
local window

local function close()
  if window and api.nvim_win_is_valid(window) then
    api.nvim_win_close(window, true)
  end
  window = nil
end

---Return one line for each key.
---@return string[] lines
function M.lines()
  local keys = require('sessiond.tree.keys')
  local lines = {}
  for index, group in ipairs(keys.effective()) do
    if index > 1 then
      lines[#lines + 1] = ''
    end
    for _, pair in ipairs(group) do
      local action = keys.ACTIONS[pair[2]]
      if action then
        lines[#lines + 1] = ('%-6s %s'):format(pair[1], action.description)
      end
    end
  end
  return lines
end

---Show or hide the keys.
---@param view sessiond.Tree
function M.toggle(view)
  if window and api.nvim_win_is_valid(window) then
    close()
    return
  end
  local lines = M.lines()
  local widest = 0
  for _, line in ipairs(lines) do
    widest = math.max(widest, #line)
  end
  local buffer = api.nvim_create_buf(false, true)
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].modifiable = false
  vim.bo[buffer].bufhidden = 'wipe'
  local height = math.min(#lines, vim.o.lines - 4)
  window = api.nvim_open_win(buffer, true, {
    relative = 'editor',
    row = math.floor((vim.o.lines - height) / 2) - 1,
    col = math.max(math.floor((vim.o.columns - widest) / 2) - 1, 0),
    width = math.min(widest + 1, vim.o.columns - 4),
    height = height,
    style = 'minimal',
    border = 'rounded',
    title = ' sessiond: the keys of a tree ',
  })
  for _, key in ipairs({ '?', 'g?', 'q', '<Esc>', '<CR>' }) do
    vim.keymap.set('n', key, close, { buffer = buffer, nowait = true })
  end
  api.nvim_create_autocmd('WinLeave', { buffer = buffer, once = true, callback = vim.schedule_wrap(close) })
  api.nvim_create_autocmd(
    'BufUnload',
    { buffer = view.buffer, once = true, callback = vim.schedule_wrap(close) }
  )
end

return M
