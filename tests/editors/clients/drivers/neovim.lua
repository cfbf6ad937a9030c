-- Uses Neovim as a person would, with the snippet for its init.lua, and writes down what was to be seen.
local seen = {}

local function eventually(what, look)
  local found
  if not vim.wait(60000, function() found = look() return found end, 50) then
    error('never: ' .. what)
  end
  return found
end

local function entry_of(list)
  local names = {}
  for _, item in ipairs(list) do
    table.insert(names, item.text)
  end
  return names
end

local function outline()
  vim.fn.setloclist(0, {})
  vim.lsp.buf.document_symbol({ loclist = true })
  eventually('an outline', function() return #vim.fn.getloclist(0) > 0 end)
  local names = entry_of(vim.fn.getloclist(0))
  vim.cmd.lclose()
  return names
end

local function hover_text()
  vim.lsp.buf.hover()
  local window = eventually('a hover', function()
    for _, candidate in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(candidate).relative ~= '' then
        return candidate
      end
    end
  end)
  local text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), '\n')
  vim.api.nvim_win_close(window, true)
  return text
end

local function act(beginning)
  vim.lsp.buf.code_action({
    apply = true,
    filter = function(action) return vim.startswith(action.title, beginning) end,
  })
end

local function run()
  local log = vim.api.nvim_get_current_buf()
  eventually('a client', function() return vim.lsp.get_clients({ bufnr = log })[1] end)
  eventually('an initialized client', function() return vim.lsp.get_clients({ bufnr = log })[1].initialized end)
  seen.outline = outline()

  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  seen.hover = hover_text()
  vim.lsp.buf.definition()
  eventually('the parent', function() return vim.api.nvim_win_get_cursor(0)[1] ~= 3 end)
  seen.parent = vim.api.nvim_win_get_cursor(0)[1]

  local said = {}
  local show = vim.lsp.handlers['window/showMessage']
  vim.lsp.handlers['window/showMessage'] = function(error_, message, ...)
    table.insert(said, message.message)
    return show(error_, message, ...)
  end
  vim.api.nvim_win_set_cursor(0, { 3, 0 })
  act('Branch here')
  eventually('a word on the branch', function() return #said > 0 end)
  act('Label this entry')
  eventually('a label', function()
    vim.cmd.checktime()
    return table.concat(vim.fn.readfile(vim.api.nvim_buf_get_name(log)), '\n'):find('"label"') ~= nil
  end)
  act('Fork the path')
  eventually('the fork', function() return vim.api.nvim_get_current_buf() ~= log end)
  seen.fork = vim.api.nvim_buf_get_name(0)

  vim.cmd.edit(vim.env.DAMAGED)
  eventually('a problem', function() return #vim.diagnostic.get(0) > 0 end)
  seen.problems = vim.tbl_map(function(it) return it.lnum + 1 end, vim.diagnostic.get(0))

  vim.cmd.buffer(log)
  local endpoint = vim.json.decode(table.concat(vim.fn.readfile(vim.env.SESSIOND_HOME .. '/state/endpoint.json')))
  vim.uv.kill(endpoint.pid, 'sigkill')
  seen.outline_again = outline()
  seen.clients = #vim.lsp.get_clients({ bufnr = log })
end

local ok, why = xpcall(run, debug.traceback)
seen.error = not ok and why or nil
vim.fn.writefile({ vim.json.encode(seen) }, vim.env.SEEN)
vim.cmd('qall!')
