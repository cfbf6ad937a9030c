---The list of sessions, to choose one from.
local M = {}

local client = require('sessiond.client')
local text = require('sessiond.text')

---@class sessiond.SessionsQuestion
---@field prompt? string
---@field all? boolean of every folder, not only the present one
---@field query? string

---@param session sessiond.ListedSession
---@return string
function M.line(session)
  local name = session.title or session.firstPrompt or '(nothing was said yet)'
  local parts = {
    text.pad(text.ago(session.updatedAt), 4),
    text.pad(tostring(session.messageCount), 5),
    text.fit(text.one_line(name), 70),
  }
  for _, tag in ipairs(session.tags) do
    parts[#parts + 1] = '#' .. text.one_line(tag)
  end
  if session.lifecycle == 'error' or session.lifecycle == 'interrupted' or session.lifecycle == 'aborted' then
    parts[#parts + 1] = '(' .. session.lifecycle .. ')'
  end
  return table.concat(parts, ' ')
end

---The newest sessions as choices; their values are ids.
---@param question sessiond.SessionsQuestion
---@param callback fun(choices: sessiond.Choice[])
function M.choices(question, callback)
  local params = {
    cwd = not question.all and vim.uv.cwd() or nil,
    query = question.query,
    limit = 1000,
    includeDrafts = true,
  }
  client.request('session/list', params, function(err, result)
    if err then
      require('sessiond.actions').tell_error(err)
      return
    end
    local choices = {}
    for _, session in ipairs(result.sessions) do
      local line = M.line(session)
      if question.all then
        line = ('%s  %s'):format(line, text.one_line(vim.fn.fnamemodify(session.cwd, ':~')))
      end
      choices[#choices + 1] =
        { text = line, value = session.sessionId, preview = { session = session.sessionId } }
    end
    callback(choices)
  end)
end

---Have a person choose a session.
---@param question sessiond.SessionsQuestion
---@param chosen fun(id: string)
function M.pick(question, chosen)
  M.choices(question, function(choices)
    if #choices == 0 then
      local where = question.all and 'There are no sessions yet.'
        or 'There are no sessions of this folder; `:Sessiond! sessions` shows all, `:Sessiond new` starts one.'
      require('sessiond.actions').say(where)
      return
    end
    require('sessiond.pick').one({
      prompt = question.prompt or (question.all and 'All sessions' or 'Sessions of this folder'),
      choices = choices,
    }, chosen)
  end)
end

---Show beside a choice what it stands for: the beginning of a tree, or an entry.
---@param choice sessiond.Choice
---@param buffer integer
function M.preview(choice, buffer)
  local preview = choice.preview
  if not preview then
    return
  end
  local function show(lines)
    if vim.api.nvim_buf_is_valid(buffer) then
      vim.bo[buffer].modeline, vim.bo[buffer].modifiable = false, true
      vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    end
  end
  if preview.entry then
    client.request(
      'view/entry',
      { sessionId = preview.session, entryId = preview.entry },
      function(err, result)
        show(text.lines(err and err.message or result.text))
      end
    )
    return
  end
  client.request('session/tree', { sessionId = preview.session, limit = 200 }, function(err, result)
    if err then
      show(text.lines(err.message))
      return
    end
    local rows = require('sessiond.tree.rows').new()
    rows:add(result.nodes)
    show(require('sessiond.tree.draw').lines(rows.list, 1, #rows.list, (rows:tip())))
  end)
end

return M
