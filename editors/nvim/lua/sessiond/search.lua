---Finding what was said, in all sessions: hits go to the quickfix list, where `:cnext` and `<CR>` go through them.
local M = {}

local text = require('sessiond.text')

---@param query string
---@param more table of `session/search`: cwd, sessionId, role …
---@param callback fun(hits: sessiond.Hit[])
function M.hits(query, more, callback)
  local params = vim.tbl_extend('force', { query = query, limit = 200 }, more)
  require('sessiond.actions').ask('session/search', params, function(result)
    if result.unsearchedCount > 0 then
      require('sessiond.log').notify(
        ('%d sessions are not read to their end yet; search again for all hits'):format(result.unsearchedCount),
        vim.log.levels.WARN
      )
    end
    callback(result.hits)
  end)
end

---@param hit sessiond.Hit
---@return string
local function line(hit)
  return ('%s %s %s: %s'):format(
    text.pad(text.ago(hit.timestamp), 4),
    text.one_line(hit.role or hit.type),
    text.fit(text.one_line(hit.title or hit.sessionId), 40),
    text.one_line(hit.snippet)
  )
end

---@param hits sessiond.Hit[]
---@return sessiond.Choice[] choices whose values are hits
function M.choices(hits)
  return vim.tbl_map(function(hit)
    return { text = line(hit), value = hit, preview = { session = hit.sessionId, entry = hit.entryId } }
  end, hits)
end

---Show a hit in its tree.
---@param hit sessiond.Hit
function M.open(hit)
  local view = require('sessiond.tree.window').open(hit.sessionId)
  if view and hit.entryId then
    view:reveal(hit.labeledEntryId or hit.entryId)
  end
end

---Put the hits into the quickfix list and show it.
---@param query string
---@param more? table
function M.quickfix(query, more)
  M.hits(query, more or {}, function(hits)
    if #hits == 0 then
      require('sessiond.actions').say('Nothing was found.')
      return
    end
    local buffers = require('sessiond.buffers')
    local items = {}
    for _, hit in ipairs(hits) do
      local name = hit.entryId and buffers.entry_name(hit.sessionId, hit.labeledEntryId or hit.entryId)
        or buffers.tree_name(hit.sessionId)
      items[#items + 1] = {
        filename = name,
        module = text.fit(text.one_line(hit.title or hit.sessionId), 40),
        lnum = 1,
        text = text.one_line(hit.snippet),
        user_data = hit,
      }
    end
    vim.fn.setqflist({}, ' ', { title = 'sessiond: ' .. query, items = items })
    vim.cmd('botright copen')
  end)
end

return M
