---Finds what was said about a matter in earlier sessions, and lets the user choose a passage.
local M = {}

local text = require('sessiond.text')

---@param passage sessiond.RecallPassage
---@param addition string follows the title
---@return string
local function line_of(passage, addition)
  return ('%s %s%s: %s'):format(
    text.pad(text.ago(passage.timestamp), 4),
    text.fit(text.title(passage), 32),
    addition,
    text.one_line(passage.text)
  )
end

---Ask, let the user choose one of the passages, and show it in the tree of its session.
---@param question string
---@param project? string a folder of the project whose sessions are searched; nil: all
function M.pick(question, project)
  local when_ready = require('sessiond.pick').begin()
  local params = { question = question, project = project, limit = 30, budgetTokens = 6000 }
  require('sessiond.actions').request('session/recall', params, function(result)
    if #result.passages == 0 then
      require('sessiond.actions').show_message(
        project and 'Nothing in this project; `:Sessiond! recall` asks all sessions.' or 'Nothing was found.'
      )
      return
    end
    local distinctions = require('sessiond.distinctions')
    local lines =
      distinctions.lines(result.passages, line_of, distinctions.entry_facts, distinctions.entry_id)
    local choices = {}
    for place, passage in ipairs(result.passages) do
      local preview = { session = passage.sessionId, entry = passage.entryId }
      choices[place] = { text = lines[place], value = passage, preview = preview }
    end
    when_ready(function()
      require('sessiond.pick').one({ prompt = 'Recall', choices = choices }, function(passage)
        local view = require('sessiond.tree.window').open(passage.sessionId)
        if view and passage.entryId then
          view:reveal(passage.entryId)
        end
      end)
    end, function() end)
  end)
end

return M
