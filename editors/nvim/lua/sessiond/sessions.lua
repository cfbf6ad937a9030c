---The sessions of a project, or of all projects: to choose one from, and to preview in a picker.
local M = {}

local client = require('sessiond.client')
local text = require('sessiond.text')

---Rows of a tree in a preview, around the leaf.
local PREVIEW_ROWS = 200

---@class sessiond.SessionsQuestion
---@field prompt? string
---@field all? boolean sessions of all projects, not only of that of the current folder
---@field query? string only sessions that match these words
---@field automated? boolean whether automated sessions are among the choices; default: as in lists

---Whether `:Sessiond automated` shows automated sessions in lists; nil: as configured.
---@type boolean?
local chosen_automated

---The value of the choice that shows the hidden sessions.
local SHOW_HIDDEN = {}

---Return whether lists show automated sessions.
---@return boolean
function M.shows_automated()
  if chosen_automated ~= nil then
    return chosen_automated
  end
  return require('sessiond.config').get().automated
end

---Show automated sessions in the lists of this Neovim, or hide them again.
function M.toggle_automated()
  chosen_automated = not M.shows_automated()
  require('sessiond.sessions.buffer').redraw()
end

---Split sessions into those that a list shows and the others.
---@param sessions sessiond.ListedSession[]
---@return sessiond.ListedSession[] people the sessions whose prompts a person gave
---@return integer count of the automated sessions
function M.without_automated(sessions)
  local people = vim.tbl_filter(function(session)
    return not (session.origin and session.origin.automated)
  end, sessions)
  return people, #sessions - #people
end

---Return the line about hidden sessions.
---@param count integer
---@return string
function M.hidden_line(count)
  return ('%d automated session%s hidden'):format(count, count == 1 and '' or 's')
end

---Return the filter of a list.
---@param question sessiond.SessionsQuestion
---@return sessiond.ListFilter
function M.filter(question)
  return {
    project = not question.all and vim.uv.cwd() or nil,
    query = question.query,
    includeDrafts = true,
  }
end

---Return the line of a session.
---@param session sessiond.ListedSession
---@param with_folder boolean whether the line also names the folder
---@param addition string follows the title, which leaves room for it in a narrow window
---@return string line the age, the number of messages, the title and the tags
local function line_of(session, with_folder, addition)
  local parts = {
    text.pad(text.ago(session.updatedAt), 4),
    text.pad(tostring(session.messageCount or '…'), 5),
    text.fit(text.title(session), addition ~= '' and 40 or 70) .. addition,
  }
  for _, tag in ipairs(session.tags) do
    parts[#parts + 1] = '#' .. text.one_line(tag)
  end
  if session.lifecycle == 'error' or session.lifecycle == 'interrupted' or session.lifecycle == 'aborted' then
    parts[#parts + 1] = '(' .. session.lifecycle .. ')'
  end
  if session.origin then
    local state = session.origin.gone and ', deleted there' or session.origin.archived and ', archived there' or ''
    local automated = session.origin.automated and ', automated' or ''
    parts[#parts + 1] = ('(%s%s%s)'):format(text.one_line(session.origin.agent), automated, state)
  end
  if with_folder then
    parts[#parts + 1] = ' ' .. text.one_line(vim.fn.fnamemodify(session.cwd, ':~'))
  end
  return table.concat(parts, ' ')
end

---Return the lines of sessions in lists and pickers. Those that look the same show what differs.
---@param sessions sessiond.ListedSession[]
---@param folder? string the folder that no line names
---@return string[]
function M.lines(sessions, folder)
  local distinctions = require('sessiond.distinctions')
  return distinctions.lines(sessions, function(session, addition)
    return line_of(session, session.cwd ~= folder, addition)
  end, distinctions.session_facts, function(session)
    return session.sessionId
  end)
end

---@param question sessiond.SessionsQuestion
---@param sessions sessiond.ListedSession[]
---@return sessiond.Choice[] choices whose values are ids
local function choices_of(question, sessions)
  local hidden_count = 0
  if not (question.automated or question.query or M.shows_automated()) then
    sessions, hidden_count = M.without_automated(sessions)
  end
  local choices = {}
  for place, line in ipairs(M.lines(sessions, vim.uv.cwd())) do
    local session = sessions[place]
    choices[place] = {
      text = line,
      value = session.sessionId,
      preview = { session = session.sessionId, leaf = session.leafId },
    }
  end
  if hidden_count > 0 then
    choices[#choices + 1] = { text = M.hidden_line(hidden_count) .. ': show them', value = SHOW_HIDDEN }
  end
  return choices
end

---Read the sessions as a question for a picker. The question stays current until it is closed.
---@param question sessiond.SessionsQuestion
---@param callback fun(question: sessiond.Question) not called if the list cannot be read
local function ask(question, callback)
  local update ---@type fun(choices: sessiond.Choice[])?
  local asked ---@type sessiond.Question?
  local list
  list = require('sessiond.sessions.watched_list').open(M.filter(question), {
    failed = function(err)
      require('sessiond.actions').show_error(err)
    end,
    changed = function(sessions)
      local choices = choices_of(question, sessions)
      if update then
        update(choices)
      elseif asked then
        asked.choices = choices
      else
        asked = {
          prompt = question.prompt or (question.all and 'All sessions' or 'Sessions of this project'),
          choices = choices,
          observe = function(callback_of_picker)
            update = callback_of_picker
          end,
          close = function()
            list:close()
          end,
        }
        callback(asked)
      end
    end,
  })
end

---Let the user choose a session.
---@param question sessiond.SessionsQuestion
---@param chosen fun(id: string)
---@param show? fun(asked: sessiond.Question, chosen: fun(value: any)) shows a picker; default: the configured one
function M.pick(question, chosen, show)
  local when_ready = require('sessiond.pick').begin()
  ask(question, function(asked)
    if #asked.choices == 0 then
      asked.close()
      require('sessiond.actions').show_message(
        question.query and 'No session matches these words.'
          or question.all and 'There are no sessions yet.'
          or 'There are no sessions of this project; `:Sessiond! sessions` shows all, `:Sessiond new` starts one.'
      )
      return
    end
    when_ready(function()
      (show or require('sessiond.pick').one)(asked, function(value)
        if value == SHOW_HIDDEN then
          M.pick(vim.tbl_extend('force', question, { automated = true }), chosen, show)
        else
          chosen(value)
        end
      end)
    end, asked.close)
  end)
end

---Show lines in the buffer of a preview.
---@param buffer integer
---@param lines string[]
---@param place? integer the line that the windows of the buffer show
local function show(buffer, lines, place)
  if not vim.api.nvim_buf_is_valid(buffer) then
    return
  end
  vim.bo[buffer].modeline, vim.bo[buffer].modifiable = false, true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  for _, window in ipairs(place and vim.fn.win_findbuf(buffer) or {}) do
    vim.api.nvim_win_set_cursor(window, { place, 0 })
  end
end

---Show a preview of a choice: the end of a session, or an entry.
---@param choice sessiond.Choice
---@param buffer integer
function M.preview(choice, buffer)
  local preview = choice.preview
  if not preview then
    return
  elseif preview.entry then
    local params = { sessionId = preview.session, entryId = preview.entry }
    client.request('view/entry', params, function(err, result)
      show(buffer, err and text.lines(err.message) or text.document_lines(result.text))
    end)
    return
  end
  local params = { sessionId = preview.session, aroundId = preview.leaf, limit = PREVIEW_ROWS }
  client.request('session/tree', params, function(err, result)
    if err then
      show(buffer, text.lines(err.message))
      return
    end
    local place
    for at, row in ipairs(result.nodes) do
      place = row.onPath and at or place
    end
    local tip = place and result.nodes[place]
    show(buffer, require('sessiond.tree.draw').lines(result.nodes, 1, #result.nodes, tip), place)
  end)
end

return M
