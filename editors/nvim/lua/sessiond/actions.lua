---What a person does to a session and its entries: each asks what it must, tells the daemon, and says what came
---of it. What changes is drawn when the daemon announces it, whoever caused it.
local M = {}

local client = require('sessiond.client')
local log = require('sessiond.log')
local text = require('sessiond.text')

---@param err sessiond.RpcError
local function tell_error(err)
  log.notify(text.one_line(err.message), vim.log.levels.ERROR)
end
M.tell_error = tell_error

---Say something on the command line, cut to its width: what is longer would have to be confirmed.
---@param message string
local function say(message)
  log.info(message)
  vim.api.nvim_echo({ { text.fit(text.one_line(message), math.max(vim.v.echospace, 20)) } }, true, {})
end
M.say = say

---Ask the daemon; an error is told, a result handed on.
---@param method string
---@param params table
---@param callback fun(result: any)
local function ask(method, params, callback)
  client.request(method, params, function(err, result)
    if err then
      tell_error(err)
    else
      callback(result)
    end
  end)
end
M.ask = ask

---Find the whole id of the session that a person means by its first characters. Several are told as an error; a word
---that no id begins with is handed on, so that the daemon says what is near.
---@param word string
---@param callback fun(id: string)
function M.whole_id(word, callback)
  ask('session/resolve', { query = word, limit = 8 }, function(result)
    local ids = vim.tbl_map(function(session)
      return session.sessionId
    end, result.sessions)
    if result.exact or #ids == 0 then
      callback(word)
    elseif #ids == 1 then
      callback(ids[1])
    else
      log.notify(
        text.one_line(("Session id '%s' is ambiguous: %s."):format(word, table.concat(ids, ', '))),
        vim.log.levels.ERROR
      )
    end
  end)
end

---Append a message of the user, and tell the id of the entry.
---@param id string
---@param parent string? where it hangs; the leaf without it
---@param message string
---@param callback? fun(result: sessiond.AppendResult)
function M.append_message(id, parent, message, callback)
  local entry = {
    type = 'message',
    message = { role = 'user', content = message, timestamp = os.time() * 1000 },
  }
  local params = { sessionId = id, entries = { entry }, parentId = parent }
  client.request('session/append', params, function(err, result)
    if err then
      tell_error(err)
    else
      say(('Appended as %s.'):format(result.entries[1].id))
    end
    if callback then
      callback(result)
    end
  end)
end

---Write a message in a buffer; `:write` appends it.
---@param id string
---@param entry string? that it is appended to; the leaf without it
function M.append(id, entry)
  require('sessiond.buffers').compose(id, entry)
end

---@param id string
---@param entry string
---@param summarize boolean?
local function move_leaf(id, entry, summarize)
  ask('session/branch', { sessionId = id, entryId = entry, summarize = summarize }, function(result)
    say(
      result.summary and ('The leaf is now %s, with a summary of what was left.'):format(result.leafId)
        or ('The leaf is now %s.'):format(result.leafId)
    )
  end)
end

---Move the leaf to an entry.
---@param id string
---@param entry string
function M.branch(id, entry)
  move_leaf(id, entry)
end

---Move the leaf, and have a summary of what is left behind written.
---@param id string
---@param entry string
function M.branch_summary(id, entry)
  say('A summary is being written …')
  move_leaf(id, entry, true)
end

---Cut the path to an entry into a new session, and show its tree.
---@param id string
---@param entry string?
---@param title string?
function M.fork(id, entry, title)
  ask('session/fork', { sessionId = id, leafId = entry, title = title }, function(result)
    say(('Forked into %s.'):format(result.session.sessionId))
    require('sessiond.tree.window').open(result.session.sessionId)
  end)
end

---@param id string
---@param entry string
---@param label string? empty takes it away; without it, it is asked for
function M.label(id, entry, label)
  local function set(chosen)
    if chosen then
      ask('session/label', { sessionId = id, entryId = entry, label = vim.trim(chosen) }, function()
        say(
          vim.trim(chosen) == '' and ('%s has no label now.'):format(entry)
            or ('%s is labeled [%s].'):format(entry, vim.trim(chosen))
        )
      end)
    end
  end
  if label then
    set(label)
    return
  end
  local function ask_user(present)
    vim.ui.input({ prompt = 'Label (empty: none): ', default = text.one_line(present) }, set)
  end
  local view = require('sessiond.tree.view').of(0)
  local row = view and view.canvas.rows:get(entry)
  if row then
    ask_user(row.label)
    return
  end
  require('sessiond.labels').read(id, function(err, labels)
    if not labels then
      tell_error(err --[[@as sessiond.RpcError]])
      return
    end
    local present = vim.iter(labels):find(function(it)
      return it.entryId == entry
    end)
    ask_user(present and present.label)
  end)
end

---@param id string
---@param title string? without it, it is asked for
function M.rename(id, title)
  local function set(chosen)
    if chosen then
      ask('session/rename', { sessionId = id, title = vim.trim(chosen) }, function(result)
        say(('The title is now: %s'):format(result.session.title or '(none)'))
      end)
    end
  end
  if title then
    set(title)
  else
    vim.ui.input({ prompt = 'Title: ' }, set)
  end
end

---Move a session to the trash, after asking.
---@param id string
---@param sure boolean? do not ask
function M.delete(id, sure)
  if not sure and vim.fn.confirm(('Move session %s to the trash?'):format(id), '&Yes\n&No', 2) ~= 1 then
    return
  end
  ask('session/delete', { sessionId = id, note = 'deleted in Neovim' }, function(result)
    say(('Moved to the trash; `:Sessiond restore %s` brings it back.'):format(result.sessionId))
  end)
end

---@param id string
function M.restore(id)
  ask('trash/restore', { sessionId = id }, function(result)
    say(('Back at %s.'):format(result.session.path or 'its place in memory'))
  end)
end

---Show what a model would see at an entry.
---@param id string
---@param entry string?
function M.context(id, entry)
  require('sessiond.buffers').open_context(id, entry)
end

---@param _ string
---@param entry string
function M.copy_id(_, entry)
  vim.fn.setreg('"', entry)
  pcall(vim.fn.setreg, '+', entry)
  say(('Copied %s.'):format(entry))
end

---The stored text of an entry, without the headings of its document.
---@param id string
---@param entry string
function M.copy_text(id, entry)
  ask('session/entries', { sessionId = id, entryIds = { entry }, resolveBlobs = true }, function(result)
    local stored = result.items[1].entry
    local content = vim.tbl_get(stored, 'message', 'content')
      or stored.content
      or stored.summary
      or ''
    if type(content) == 'table' then
      local parts = {}
      for _, block in ipairs(content) do
        if type(block) == 'table' and type(block.text) == 'string' then
          parts[#parts + 1] = block.text
        end
      end
      content = table.concat(parts, '\n')
    end
    vim.fn.setreg('"', content)
    pcall(vim.fn.setreg, '+', content)
    say(('Copied %d characters.'):format(vim.fn.strchars(content)))
  end)
end

---Compare the entry with the leaf, side by side.
---@param id string
---@param entry string
function M.diff(id, entry)
  local view = require('sessiond.tree.view').of(0)
  local tip = view and view.canvas.tip
  if not tip or tip.id == entry then
    say('There is nothing to compare: this is where the path ends.')
    return
  end
  local buffers = require('sessiond.buffers')
  vim.cmd('tabnew ' .. vim.fn.fnameescape(buffers.entry_name(id, entry)))
  vim.cmd('vertical diffsplit ' .. vim.fn.fnameescape(buffers.entry_name(id, tip.id)))
end

M.FORMATS = { 'markdown', 'jsonl', 'operator', 'go', 'nova' }

---Write a session to a file, or show it in a buffer.
---@param id string
---@param format string
---@param path string?
---@param overwrite boolean?
function M.export(id, format, path, overwrite)
  local absolute = path and vim.fn.fnamemodify(path, ':p')
  ask(
    'session/export',
    { sessionId = id, format = format, path = absolute, overwrite = overwrite },
    function(result)
      local redacted = 0
      for _, count in pairs(result.redactedCounts) do
        redacted = redacted + count
      end
      local notes = redacted > 0 and (' %d secrets were left out.'):format(redacted) or ''
      if result.path then
        say(('Wrote %s, %d entries.%s'):format(result.path, result.entryCount, notes))
        return
      end
      local filetype = ({ markdown = 'markdown', jsonl = 'jsonl' })[format] or 'json'
      require('sessiond.buffers').scratch(result.text or '', filetype)
      say(('%d entries.%s'):format(result.entryCount, notes))
    end
  )
end

---Start a session in the present folder and show it.
---@param title string?
function M.new(title)
  ask(
    'session/create',
    { cwd = vim.uv.cwd(), title = title, terminal = require('sessiond.terminal').here() },
    function(result)
      say(('Started %s.'):format(result.session.sessionId))
      require('sessiond.tree.window').open(result.session.sessionId)
    end
  )
end

---Go on with the session of this terminal, and say why it is that one.
function M.continue()
  ask(
    'session/continue',
    { cwd = vim.uv.cwd(), terminal = require('sessiond.terminal').here() },
    function(result)
      say(result.message)
      require('sessiond.tree.window').open(result.session.sessionId)
    end
  )
end

return M
