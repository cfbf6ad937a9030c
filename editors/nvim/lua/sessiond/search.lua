---Full-text search in sessions. The hits are shown in the quickfix list.
local M = {}

local text = require('sessiond.text')

---Search, and warn if some sessions are not indexed yet.
---@param query string words, `"phrases"` and `beginnings*`
---@param more table further params of `session/search`
---@param callback fun(hits: sessiond.Hit[]) not called after an error
function M.hits(query, more, callback)
  local params = vim.tbl_extend('force', { query = query, limit = 200 }, more)
  require('sessiond.actions').request('session/search', params, function(result)
    if result.unsearched.sessionCount > 0 then
      require('sessiond.log').notify(
        ('%d sessions are not indexed completely yet; search again for all hits'):format(result.unsearched.sessionCount),
        vim.log.levels.WARN
      )
    end
    callback(result.hits)
  end)
end

---@param hit sessiond.Hit
---@param addition string follows the title
---@return string
local function line_of(hit, addition)
  return ('%s %s %s%s: %s'):format(
    text.pad(text.ago(hit.timestamp), 4),
    text.one_line(hit.role or hit.type),
    text.fit(text.title(hit), 40),
    addition,
    text.one_line(hit.snippet)
  )
end

---Return hits for a picker.
---@param hits sessiond.Hit[]
---@return sessiond.Choice[] choices whose values are hits
function M.choices(hits)
  local distinctions = require('sessiond.distinctions')
  local lines = distinctions.lines(hits, line_of, distinctions.entry_facts, distinctions.entry_id)
  local choices = {}
  for place, hit in ipairs(hits) do
    local preview = { session = hit.sessionId, entry = hit.entryId }
    choices[place] = { text = lines[place], value = hit, preview = preview }
  end
  return choices
end

---Show a hit in its tree.
---@param hit sessiond.Hit
function M.open(hit)
  local view = require('sessiond.tree.window').open(hit.sessionId)
  if view and hit.entryId then
    view:reveal(hit.labeledEntryId or hit.entryId)
  end
end

---Search, and show the hits in the quickfix list.
---@param query string words, `"phrases"` and `beginnings*`
---@param more? table further params of `session/search`
function M.quickfix(query, more)
  M.hits(query, more or {}, function(hits)
    if #hits == 0 then
      require('sessiond.actions').show_message(
        more and more.project and 'No hits in this project; `:Sessiond! search` searches all sessions.' or 'No hits.'
      )
      return
    end
    local buffers = require('sessiond.buffers')
    local items = {}
    local distinctions = require('sessiond.distinctions')
    -- The quickfix list shows the title and then the text.
    local lines = distinctions.lines(hits, function(hit, addition)
      return text.fit(text.title(hit), 40) .. addition .. '\n' .. text.one_line(hit.snippet)
    end, distinctions.entry_facts, distinctions.entry_id)
    for place, hit in ipairs(hits) do
      local title, snippet = lines[place]:match('^(.*)\n(.*)$')
      local name = hit.entryId and buffers.entry_name(hit.sessionId, hit.labeledEntryId or hit.entryId)
        or buffers.tree_name(hit.sessionId)
      items[#items + 1] = {
        filename = name,
        module = title,
        lnum = 1,
        text = snippet,
        user_data = hit,
      }
    end
    vim.fn.setqflist({}, ' ', { title = 'sessiond: ' .. query, items = items })
    vim.cmd('botright copen')
  end)
end

return M
