-- Loaded at start: one command, the sessiond:// buffers, and the detection of session files. The rest is loaded on
-- first use.
if vim.g.loaded_sessiond then
  return
end
vim.g.loaded_sessiond = 1

if vim.fn.has('nvim-0.10') == 0 then
  vim.api.nvim_echo(
    { { 'sessiond: the plugin needs Neovim 0.10 or newer, and is not loaded.', 'WarningMsg' } },
    true,
    {}
  )
  return
end

vim.api.nvim_create_user_command('Sessiond', function(given)
  require('sessiond.commands').run(given)
end, {
  nargs = '*',
  bang = true,
  range = true,
  desc = 'Sessions of coding agents: see :help :Sessiond',
  complete = function(lead, line, position)
    return require('sessiond.commands').complete(lead, line, position)
  end,
})

local group = vim.api.nvim_create_augroup('sessiond', {})

vim.api.nvim_create_autocmd('BufReadCmd', {
  group = group,
  pattern = 'sessiond://*',
  desc = 'Show a session, an entry or a list',
  callback = function(event)
    require('sessiond.buffers').read(event.buf, event.match)
  end,
})

vim.api.nvim_create_autocmd('FileType', {
  group = group,
  pattern = { 'jsonl', 'json' },
  desc = 'Attach to session files',
  callback = function(event)
    if vim.api.nvim_buf_get_name(event.buf):find('%.jsonl$') then
      require('sessiond.lsp').attach(event.buf)
    end
  end,
})

for name, subcommand in pairs({
  Tree = 'tree',
  Sessions = 'sessions',
  Continue = 'continue',
  Search = 'search',
  Append = 'append',
}) do
  vim.keymap.set('n', ('<Plug>(Sessiond%s)'):format(name), function()
    require('sessiond.commands').run({
      fargs = { subcommand },
      args = subcommand,
      bang = false,
      range = 0,
      line1 = 0,
      line2 = 0,
    })
  end, { desc = 'sessiond: ' .. subcommand })
end
