---The keys of a tree and their actions. They follow those of aerial, undotree and outline.nvim.
local M = {}

---@param view sessiond.Tree
---@param act fun(id: string, entry: string)
local function at_entry(view, act)
  local row = view:row()
  if row then
    act(view.id, row.id)
  end
end

---@param view sessiond.Tree
---@param step 1|-1
---@param is_wanted fun(row: sessiond.Row): boolean
local function jump(view, step, is_wanted)
  local _, place = view:row()
  local found = view.canvas.rows:next(place, step, function(row, at)
    local fold = vim.fn.foldclosed(at)
    return is_wanted(row) and (fold < 0 or fold == at)
  end)
  if found then
    vim.cmd("normal! m'")
    vim.api.nvim_win_set_cursor(0, { found, 0 })
  end
end

---@param row sessiond.Row
---@return boolean
local function is_user(row)
  return row.role == 'user'
end

---@param row sessiond.Row
---@return boolean
local function is_branch(row)
  return require('sessiond.tree.rows').begins_branch(row)
end

---@param row sessiond.Row
---@return boolean
local function has_label(row)
  return row.label ~= nil
end

---@param how 'edit'|'split'|'vsplit'|'tabedit'|'preview'
---@return fun(view: sessiond.Tree)
local function open(how)
  return function(view)
    at_entry(view, function(id, entry)
      require('sessiond.buffers').open_entry(id, entry, how)
    end)
  end
end

---@param name string of a function in `sessiond.actions`
---@return fun(view: sessiond.Tree)
local function act(name)
  return function(view)
    at_entry(view, function(id, entry)
      require('sessiond.actions')[name](id, entry)
    end)
  end
end

---@class sessiond.Action
---@field description string for the help
---@field run fun(view: sessiond.Tree)

---@type table<string, sessiond.Action>
M.ACTIONS = {
  open = { description = 'Open the entry in the window beside', run = open('edit') },
  open_split = { description = 'Open it in a split', run = open('split') },
  open_vsplit = { description = 'Open it in a vertical split', run = open('vsplit') },
  open_tab = { description = 'Open it in a tab page', run = open('tabedit') },
  preview = { description = 'Show it in the window beside, and stay here', run = open('preview') },
  peek = {
    description = 'Show it in a floating window',
    run = function(view)
      at_entry(view, require('sessiond.buffers').peek)
    end,
  },
  next_user = {
    description = 'Next message of the user',
    run = function(view)
      jump(view, 1, is_user)
    end,
  },
  previous_user = {
    description = 'Previous message of the user',
    run = function(view)
      jump(view, -1, is_user)
    end,
  },
  next_branch = {
    description = 'Next branch',
    run = function(view)
      jump(view, 1, is_branch)
    end,
  },
  previous_branch = {
    description = 'Previous branch',
    run = function(view)
      jump(view, -1, is_branch)
    end,
  },
  next_label = {
    description = 'Next label',
    run = function(view)
      jump(view, 1, has_label)
    end,
  },
  previous_label = {
    description = 'Previous label',
    run = function(view)
      jump(view, -1, has_label)
    end,
  },
  parent = {
    description = 'Go to the parent',
    run = function(view)
      local row = view:row()
      local place = row and row.parentId and view.canvas.rows.places[row.parentId]
      if place then
        vim.cmd("normal! m'")
        vim.api.nvim_win_set_cursor(0, { place, 0 })
      end
    end,
  },
  leaf = {
    description = 'Go to the leaf',
    run = function(view)
      local tip = view.canvas.rows.tip
      local place = tip and view.canvas.rows.places[tip.id]
      if place then
        vim.cmd("normal! m'")
        vim.api.nvim_win_set_cursor(0, { place, 0 })
      end
    end,
  },
  fold_toggle = {
    description = 'Open or close the branch',
    run = function()
      pcall(vim.cmd.normal, { 'za', bang = true })
    end,
  },
  fold_open = {
    description = 'Open the branch',
    run = function()
      pcall(vim.cmd.normal, { 'zo', bang = true })
    end,
  },
  fold_close = {
    description = 'Close the branch',
    run = function()
      pcall(vim.cmd.normal, { 'zc', bang = true })
    end,
  },
  append = { description = 'Write a message after this entry', run = act('append') },
  branch = { description = 'Move the leaf here: the next append starts a branch', run = act('branch') },
  branch_summary = { description = 'The same, and summarize the branch it leaves', run = act('branch_summary') },
  fork = { description = 'Copy the path to here into a new session', run = act('fork') },
  label = { description = 'Label the entry, or remove its label', run = act('label') },
  context = { description = 'Show the context that a model receives here', run = act('context') },
  copy_id = { description = 'Copy the id', run = act('copy_id') },
  copy_text = { description = 'Copy the text', run = act('copy_text') },
  diff = { description = 'Compare with the leaf', run = act('diff') },
  filter = {
    description = 'Next filter: ' .. 'default, noTools, userOnly, labeledOnly, all',
    run = function(view)
      local filters = require('sessiond.config').FILTERS
      for index, name in ipairs(filters) do
        if name == view.filter then
          view:set_filter(filters[index % #filters + 1])
          return
        end
      end
    end,
  },
  search = {
    description = 'Show only entries with these words (none: all)',
    run = function(view)
      vim.ui.input({ prompt = 'Words: ', default = view.query }, function(words)
        if words then
          view:set_query(vim.trim(words))
        end
      end)
    end,
  },
  time = {
    description = 'Show or hide the age of entries',
    run = function(view)
      view.shows_time = not view.shows_time
      vim.cmd.redraw({ bang = true })
    end,
  },
  follow = {
    description = 'Follow the leaf, or stay',
    run = function(view)
      view.canvas.follows = not view.canvas.follows
      vim.api.nvim_echo(
        { { view.canvas.follows and 'The cursor follows the leaf.' or 'The cursor stays on its entry.' } },
        false,
        {}
      )
    end,
  },
  refresh = {
    description = 'Reload the tree',
    run = function(view)
      view:reload()
    end,
  },
  back = {
    description = 'Go back to the previous window',
    run = function()
      vim.cmd.wincmd('p')
    end,
  },
  close = {
    description = 'Close the tree',
    run = function()
      if #vim.api.nvim_list_wins() > 1 then
        vim.api.nvim_win_close(0, false)
      else
        vim.cmd.enew()
      end
    end,
  },
  help = {
    description = 'Show or hide the keys',
    run = function(view)
      require('sessiond.tree.help').toggle(view)
    end,
  },
}

---Keys and their actions, in groups as in the help.
---@type {[1]: string, [2]: string}[][]
M.DEFAULTS = {
  {
    { '<CR>', 'open' },
    { '<C-s>', 'open_split' },
    { '<C-v>', 'open_vsplit' },
    { '<C-t>', 'open_tab' },
    { 'p', 'preview' },
    { 'K', 'peek' },
  },
  {
    { ']]', 'next_user' },
    { '[[', 'previous_user' },
    { '}', 'next_branch' },
    { '{', 'previous_branch' },
    { '>', 'next_label' },
    { '<', 'previous_label' },
    { 'P', 'parent' },
    { '.', 'leaf' },
  },
  { { 'o', 'fold_toggle' }, { 'l', 'fold_open' }, { 'h', 'fold_close' } },
  {
    { 'a', 'append' },
    { 'b', 'branch' },
    { 'B', 'branch_summary' },
    { 'F', 'fork' },
    { 'L', 'label' },
    { 'c', 'context' },
    { 'D', 'diff' },
    { 'y', 'copy_id' },
    { 'Y', 'copy_text' },
  },
  {
    { 'f', 'filter' },
    { 's', 'search' },
    { 'T', 'time' },
    { 'C', 'follow' },
    { 'R', 'refresh' },
    { '<Tab>', 'back' },
    { 'q', 'close' },
    { '?', 'help' },
    { 'g?', 'help' },
  },
} -- stylua: ignore

---Return the effective keys: those of the configuration replace the defaults.
---@return {[1]: string, [2]: string}[][]
function M.effective()
  local chosen = vim.deepcopy(require('sessiond.config').get().tree.keys)
  local groups = {}
  for index, group in ipairs(M.DEFAULTS) do
    groups[index] = {}
    for _, pair in ipairs(group) do
      local action = chosen[pair[1]]
      chosen[pair[1]] = nil
      if action ~= false then
        table.insert(groups[index], { pair[1], action or pair[2] })
      end
    end
  end
  local own = {}
  for key, action in pairs(chosen) do
    if action then
      own[#own + 1] = { key, action }
    end
  end
  table.sort(own, function(one, other)
    return one[1] < other[1]
  end)
  groups[#groups + 1] = #own > 0 and own or nil
  return groups
end

---Map the keys in the buffer of a tree.
---@param view sessiond.Tree
function M.map(view)
  for name, action in pairs(M.ACTIONS) do
    vim.keymap.set('n', ('<Plug>(sessiond-tree-%s)'):format(name:gsub('_', '-')), function()
      action.run(view)
    end, { buffer = view.buffer, desc = action.description })
  end
  for _, group in ipairs(M.effective()) do
    for _, pair in ipairs(group) do
      local action = M.ACTIONS[pair[2]]
      if action then
        vim.keymap.set('n', pair[1], function()
          action.run(view)
        end, { buffer = view.buffer, nowait = true, desc = action.description })
      end
    end
  end
end

return M
