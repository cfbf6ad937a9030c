-- The base of `vim.lsp.config('sessiond', …)`, whose capabilities, handlers and `on_attach` the plugin uses. The plugin
-- attaches and reconnects automatically, so `vim.lsp.enable` is not needed. With it, nothing is started twice: `root_dir`
-- passes the buffer to the plugin and starts no client.
return {
  filetypes = { 'jsonl' },
  cmd = function()
    error('sessiond: the plugin makes the connection; vim.lsp does not start the client')
  end,
  root_dir = function(buffer)
    require('sessiond.lsp').attach(buffer)
  end,
}
