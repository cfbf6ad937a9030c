---The actions of the user on sessions and entries. Each sends its request and shows a message with the result. Changes
---are drawn when the daemon sends their notification, as those of other clients are.
local M = {}

local client = require('sessiond.client')
local log = require('sessiond.log')
local text = require('sessiond.text')

---Notify the user of an error.
---@param err sessiond.RpcError
local function show_error(err)
  log.notify(text.one_line(err.message), vim.log.levels.ERROR)
end
M.show_error = show_error

---Show a message on the command line, cut to its width, because the user would have to confirm a longer one.
---@param message string
local function show_message(message)
  log.info(message)
  vim.api.nvim_echo({ { text.fit(text.one_line(message), math.max(vim.v.echospace, 20)) } }, true, {})
end
M.show_message = show_message

---Send a request. An error is shown to the user.
---@param method string
---@param params table
---@param callback fun(result: any) not called after an error
local function request(method, params, callback)
  client.request(method, params, function(err, result)
    if err then
      show_error(err)
    else
      callback(result)
    end
  end)
end
M.request = request

---Find the whole id of a session by its first characters. If several ids begin with them, the error lists these. If
---none does, `callback` receives the characters, and the error of the next request lists similar ids.
---@param word string
---@param callback fun(id: string) not called if the id is ambiguous
function M.whole_id(word, callback)
  request('session/resolve', { query = word, limit = 8 }, function(result)
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

---Append a message of the user, and show the id of the entry.
---@param id string whole id of the session
---@param parent string? the parent of the entry; default: the leaf
---@param message string
---@param callback? fun(result: sessiond.AppendResult?) nil after an error
function M.append_message(id, parent, message, callback)
  local entry = {
    type = 'message',
    message = { role = 'user', content = message, timestamp = os.time() * 1000 },
  }
  local params = { sessionId = id, entries = { entry }, parentId = parent }
  client.request('session/append', params, function(err, result)
    if err then
      show_error(err)
    else
      show_message(('Appended as %s.'):format(result.entries[1].id))
    end
    if callback then
      callback(result)
    end
  end)
end

---Open a buffer for a message, which `:write` appends.
---@param id string whole id of the session
---@param entry string? the parent of the entry; default: the leaf
function M.append(id, entry)
  require('sessiond.buffers').compose(id, entry)
end

---@param id string
---@param entry string
---@param summarize boolean?
local function move_leaf(id, entry, summarize)
  request('session/branch', { sessionId = id, entryId = entry, summarize = summarize }, function(result)
    show_message(
      result.summary and ('The leaf is now %s, with a summary of the branch that it left.'):format(result.leafId)
        or ('The leaf is now %s.'):format(result.leafId)
    )
  end)
end

---Move the leaf to an entry.
---@param id string whole id of the session
---@param entry string
function M.branch(id, entry)
  move_leaf(id, entry)
end

---Move the leaf to an entry, and add a summary of the branch that it leaves.
---@param id string whole id of the session
---@param entry string
function M.branch_summary(id, entry)
  show_message('Writing a summary …')
  move_leaf(id, entry, true)
end

---Copy the path to an entry into a new session, and show its tree.
---@param id string whole id of the session
---@param entry string? default: the leaf
---@param title string? of the new session
function M.fork(id, entry, title)
  request('session/fork', { sessionId = id, leafId = entry, title = title }, function(result)
    show_message(('Forked into %s.'):format(result.session.sessionId))
    require('sessiond.tree.window').open(result.session.sessionId)
  end)
end

---Label an entry.
---@param id string whole id of the session
---@param entry string
---@param label string? an empty one removes the label; default: ask the user
function M.label(id, entry, label)
  local function set(chosen)
    if chosen then
      request('session/label', { sessionId = id, entryId = entry, label = vim.trim(chosen) }, function()
        show_message(
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
      show_error(err --[[@as sessiond.RpcError]])
      return
    end
    local present = vim.iter(labels):find(function(label)
      return label.entryId == entry
    end)
    ask_user(present and present.label)
  end)
end

---Set the title of a session.
---@param id string whole id of the session
---@param title string? default: ask the user
function M.rename(id, title)
  local function set(chosen)
    if chosen then
      request('session/rename', { sessionId = id, title = vim.trim(chosen) }, function(result)
        show_message(('The title is now: %s'):format(result.session.title or 'untitled'))
      end)
    end
  end
  if title then
    set(title)
  else
    vim.ui.input({ prompt = 'Title: ' }, set)
  end
end

---Move a session to the trash.
---@param id string whole id of the session
---@param is_confirmed boolean? whether not to ask the user
function M.delete(id, is_confirmed)
  if not is_confirmed and vim.fn.confirm(('Move session %s to the trash?'):format(id), '&Yes\n&No', 2) ~= 1 then
    return
  end
  request('session/delete', { sessionId = id, note = 'deleted in Neovim' }, function(result)
    show_message(('Moved to the trash; `:Sessiond restore %s` restores it.'):format(result.sessionId))
  end)
end

---Restore a session from the trash.
---@param id string whole id of the session
function M.restore(id)
  request('trash/restore', { sessionId = id }, function(result)
    show_message(('Restored to %s.'):format(result.session.path or 'memory'))
  end)
end

---Show the context that a model receives at an entry.
---@param id string whole id of the session
---@param entry string? default: the leaf
function M.context(id, entry)
  require('sessiond.buffers').open_context(id, entry)
end

---Copy the id of an entry to the unnamed register and the clipboard.
---@param _ string whole id of the session
---@param entry string
function M.copy_id(_, entry)
  vim.fn.setreg('"', entry)
  pcall(vim.fn.setreg, '+', entry)
  show_message(('Copied %s.'):format(entry))
end

---Copy the text of an entry to the unnamed register and the clipboard, without the headings of its document.
---@param id string whole id of the session
---@param entry string
function M.copy_text(id, entry)
  request('session/entries', { sessionId = id, entryIds = { entry }, resolveBlobs = true }, function(result)
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
    show_message(('Copied %d characters.'):format(vim.fn.strchars(content)))
  end)
end

---Compare an entry with the leaf, side by side.
---@param id string whole id of the session
---@param entry string
function M.diff(id, entry)
  local view = require('sessiond.tree.view').of(0)
  local tip = view and view.canvas.rows.tip
  if not tip or tip.id == entry then
    show_message('Nothing to compare: this entry is the leaf.')
    return
  end
  local buffers = require('sessiond.buffers')
  vim.cmd('tabnew ' .. vim.fn.fnameescape(buffers.entry_name(id, entry)))
  vim.cmd('vertical diffsplit ' .. vim.fn.fnameescape(buffers.entry_name(id, tip.id)))
end

M.FORMATS = { 'markdown', 'jsonl', 'operator', 'go', 'nova' }

---Write a session to a file, or show it in a buffer.
---@param id string whole id of the session
---@param format string one of `M.FORMATS`
---@param path string? default: show it in a buffer
---@param overwrite boolean? whether an existing file is replaced
function M.export(id, format, path, overwrite)
  local absolute = path and vim.fn.fnamemodify(path, ':p')
  request(
    'session/export',
    { sessionId = id, format = format, path = absolute, overwrite = overwrite },
    function(result)
      local redacted = 0
      for _, count in pairs(result.redactedCounts) do
        redacted = redacted + count
      end
      local notes = redacted > 0 and (' %d secrets were omitted.'):format(redacted) or ''
      if result.path then
        show_message(('Wrote %s, %d entries.%s'):format(result.path, result.entryCount, notes))
        return
      end
      local filetype = ({ markdown = 'markdown', jsonl = 'jsonl' })[format] or 'json'
      require('sessiond.buffers').scratch(result.text or '', filetype)
      show_message(('%d entries.%s'):format(result.entryCount, notes))
    end
  )
end

---Create a session in the current folder, and show its tree.
---@param title string?
function M.new(title)
  request(
    'session/create',
    { cwd = vim.uv.cwd(), title = title, terminal = require('sessiond.terminal').here() },
    function(result)
      show_message(('Created %s.'):format(result.session.sessionId))
      require('sessiond.tree.window').open(result.session.sessionId)
    end
  )
end

---Resume the session of this terminal, else one of the project, and show why it was chosen.
function M.continue()
  request(
    'session/continue',
    { cwd = vim.uv.cwd(), project = true, terminal = require('sessiond.terminal').here() },
    function(result)
      show_message(result.message)
      require('sessiond.tree.window').open(result.session.sessionId)
    end
  )
end

return M
