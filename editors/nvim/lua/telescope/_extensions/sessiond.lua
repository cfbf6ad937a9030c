-- `:Telescope sessiond`, `:Telescope sessiond search`: sessions and hits in telescope, whatever `picker` is.
local telescope = require('telescope')

---@param options table
local function sessions(options)
  require('sessiond.sessions').pick({ all = options.all, prompt = 'Sessions' }, function(id)
    require('sessiond.tree.window').open(id)
  end, function(question, chosen)
    require('sessiond.adapters.telescope').pick(question, chosen, options)
  end)
end

---@param options table
local function search(options)
  local query = options.query or vim.fn.input('Search: ')
  if query == '' then
    return
  end
  local place = { project = not options.all and vim.uv.cwd() or nil }
  require('sessiond.search').hits(query, place, function(hits)
    local choices = require('sessiond.search').choices(hits)
    require('sessiond.adapters.telescope').pick(
      { prompt = query, choices = choices },
      require('sessiond.search').open,
      options
    )
  end)
end

return telescope.register_extension({
  exports = { sessiond = sessions, sessions = sessions, search = search },
})
