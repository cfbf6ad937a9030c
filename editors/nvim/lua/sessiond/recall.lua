---Finds what was said about a matter in earlier sessions, and lets the user choose a passage.
local M = {}

local text = require('sessiond.text')

---@param passage sessiond.RecallPassage
---@return string
local function line_of(passage)
  return ('%s %s: %s'):format(
    text.pad(text.ago(passage.timestamp), 4),
    text.fit(text.title(passage), 32),
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
    local choices = vim.tbl_map(function(passage)
      return {
        text = line_of(passage),
        value = passage,
        preview = { session = passage.sessionId, entry = passage.entryId },
      }
    end, result.passages)
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
