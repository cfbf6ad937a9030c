-- For `vim.lsp.config('sessiond', …)`: capabilities, handlers, on_attach and so on are taken over. The plugin
-- attaches by itself and comes back by itself when the daemon was restarted, so `vim.lsp.enable` is not needed;
-- with it, nothing is started twice: `root_dir` hands the buffer to the plugin and starts nothing.
return {
  filetypes = { 'jsonl' },
  cmd = function()
    error('sessiond: the plugin connects by itself; this is not started by vim.lsp')
  end,
  root_dir = function(buffer)
    require('sessiond.lsp').attach(buffer)
  end,
}
