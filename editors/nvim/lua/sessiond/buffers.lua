---The buffers whose names begin with sessiond://: trees, entries, contexts, lists of sessions, the report on storage, and
---new messages.
---
---Their text comes from people, models and tools. Modelines are off, and no part of it is run.
local M = {}

local api = vim.api
local client = require('sessiond.client')
local text = require('sessiond.text')

---Lines of an entry in a floating window.
local MAX_PEEK_LINES = 200

---@param id string
---@return string id encoded for the name of a buffer
local function encoded(id)
  return (id:gsub('[^%w._~-]', function(byte)
    return ('%%%02X'):format(byte:byte())
  end))
end

---@param id string
---@return string
local function decoded(id)
  return (id:gsub('%%(%x%x)', function(hex)
    return string.char(tonumber(hex, 16))
  end))
end

---Return the name of the buffer of an entry, which is the `uri` of `view/entry`.
---@param id string whole id of the session
---@param entry string
---@return string
function M.entry_name(id, entry)
  return ('sessiond://session/%s/entry/%s.md'):format(encoded(id), encoded(entry))
end

---Return the name of the buffer of a tree.
---@param id string whole id of the session
---@return string
function M.tree_name(id)
  return ('sessiond://session/%s/tree'):format(encoded(id))
end

---@param id string
---@param entry string?
---@return string
local function context_name(id, entry)
  return ('sessiond://session/%s/context%s.md'):format(encoded(id), entry and '/' .. encoded(entry) or '')
end

---Fill a buffer with lines that the user cannot change.
---@param buffer integer
---@param lines string[]
---@param filetype string
local function show(buffer, lines, filetype)
  if not api.nvim_buf_is_valid(buffer) then
    return
  end
  local options = vim.bo[buffer]
  options.buftype, options.swapfile, options.modeline, options.undolevels = 'nofile', false, false, -1
  options.modifiable = true
  api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  options.modifiable, options.modified = false, false
  if options.filetype ~= filetype then
    options.filetype = filetype
  end
end

---@param buffer integer
---@param err sessiond.RpcError
local function show_error(buffer, err)
  show(buffer, { text.one_line(err.message) }, 'text')
  -- During an outage, the buffer is filled after the reconnection.
  if err.data and err.data.kind == 'disconnected' then
    api.nvim_create_autocmd('User', {
      pattern = 'SessiondAttach',
      once = true,
      callback = function()
        if api.nvim_buf_is_valid(buffer) then
          M.read(buffer, api.nvim_buf_get_name(buffer))
        end
      end,
    })
  end
end

---@param buffer integer
---@param id string
---@param entry string
local function read_entry(buffer, id, entry)
  client.request('view/entry', { sessionId = id, entryId = entry }, function(err, result)
    if err then
      show_error(buffer, err)
      return
    end
    show(buffer, text.document_lines(result.text), result.languageId)
    if vim.b[buffer].sessiond_session then
      return
    end
    vim.b[buffer].sessiond_session, vim.b[buffer].sessiond_entry = id, entry
    require('sessiond.actions.lsp').attach(buffer)
    for key, action in pairs({ ['-'] = 'tree', ['q'] = 'close' }) do
      vim.keymap.set('n', key, function()
        if action == 'close' then
          pcall(vim.cmd.close)
        else
          local view = require('sessiond.tree.window').open(id)
          if view then
            view:reveal(entry)
          end
        end
      end, { buffer = buffer, nowait = true, desc = 'sessiond: ' .. action })
    end
  end)
end

---@param message table
---@return string[]
local function message_lines(message)
  local content = message.content or message.summary
  if type(content) == 'string' then
    return text.lines(content)
  end
  local lines = {}
  for _, block in ipairs(type(content) == 'table' and content or {}) do
    local whole = type(block) == 'table' and (block.text or block.thinking)
    if type(whole) == 'string' then
      vim.list_extend(lines, text.lines(whole))
    elseif type(block) == 'table' and block.type == 'image' then
      lines[#lines + 1] = '(image)'
    else
      vim.list_extend(lines, text.lines(vim.inspect(block)))
    end
  end
  return lines
end

---@param buffer integer
---@param id string
---@param entry string?
local function read_context(buffer, id, entry)
  client.request(
    'session/context',
    { sessionId = id, leafId = entry, explain = true, resolveBlobs = false },
    function(err, result)
      if err then
        show_error(buffer, err)
        return
      end
      local lines = {
        '# Context',
        '',
        ('%d messages, %s%d tokens, thinking %s'):format(
          #result.messages,
          result.tokensEstimated and 'about ' or '',
          result.tokens,
          text.one_line(result.thinkingLevel)
        ),
        '',
      }
      for _, row in ipairs(result.messages) do
        local message = row.message
        vim.list_extend(
          lines,
          { ('## %s · %s'):format(text.one_line(message.role), text.one_line(row.entryId)), '' }
        )
        local fence = '```'
        local body = message_lines(message)
        for _, line in ipairs(body) do
          while line:find(fence, 1, true) do
            fence = fence .. '`'
          end
        end
        lines[#lines + 1] = fence .. 'text'
        vim.list_extend(lines, body)
        vim.list_extend(lines, { fence, '' })
      end
      local out = {}
      for _, row in ipairs(result.explanation or {}) do
        if row.fate == 'out' then
          out[#out + 1] = ('- %s %s: %s'):format(
            text.one_line(row.entryId),
            text.one_line(row.role or row.type),
            text.one_line(row.message)
          )
        end
      end
      if #out > 0 then
        vim.list_extend(lines, { '## Out', '' })
        vim.list_extend(lines, out)
      end
      show(buffer, lines, 'markdown')
      vim.b[buffer].sessiond_session = id
    end
  )
end

---Fill a buffer according to its name (called for `BufReadCmd`).
---@param buffer integer
---@param name string
function M.read(buffer, name)
  vim.bo[buffer].modeline = false
  vim.bo[buffer].swapfile = false
  local list = name:match('^sessiond://sessions/(.+)$')
  local id, rest = name:match('^sessiond://session/([^/]+)/(.+)$')
  if list then
    require('sessiond.sessions.buffer').attach(buffer, list)
    return
  elseif name == 'sessiond://storage' then
    require('sessiond.storage').attach(buffer)
    return
  elseif not id then
    show(buffer, {
      'Invalid address. sessiond://session/ID/tree is a tree, sessiond://session/ID/entry/ID.md an entry.',
    }, 'text')
    return
  end
  id = decoded(id)
  local entry = rest:match('^entry/(.+)%.md$')
  local at = rest:match('^context/(.+)%.md$')
  if entry then
    read_entry(buffer, id, decoded(entry))
  elseif at or rest == 'context.md' then
    read_context(buffer, id, at and decoded(at))
  elseif rest == 'tree' then
    require('sessiond.tree.view').attach(buffer, id)
    for _, window in ipairs(vim.fn.win_findbuf(buffer)) do
      require('sessiond.tree.window').set_options(window)
    end
  else
    show(buffer, { 'Invalid address.' }, 'text')
  end
end

---Find the window in which the entries of the current tree are opened.
---@return integer? window nil: there is none
local function beside()
  local here = api.nvim_get_current_win()
  local candidates = { vim.fn.win_getid(vim.fn.winnr('#')) }
  vim.list_extend(candidates, api.nvim_tabpage_list_wins(0))
  for _, window in ipairs(candidates) do
    if
      window ~= 0
      and window ~= here
      and api.nvim_win_is_valid(window)
      and api.nvim_win_get_config(window).relative == ''
    then
      local buffer = api.nvim_win_get_buf(window)
      if
        not require('sessiond.tree.view').of(buffer)
        and (vim.bo[buffer].buftype == '' or vim.b[buffer].sessiond_session)
      then
        return window
      end
    end
  end
end

---Open the buffer of an entry.
---@param id string whole id of the session
---@param entry string
---@param how 'edit'|'split'|'vsplit'|'tabedit'|'preview'
function M.open_entry(id, entry, how)
  local name = vim.fn.fnameescape(M.entry_name(id, entry))
  if how == 'tabedit' then
    vim.cmd('tabedit ' .. name)
    return
  end
  local here = api.nvim_get_current_win()
  local window = beside()
  if window then
    api.nvim_set_current_win(window)
    vim.cmd((how == 'preview' and 'edit' or how) .. ' ' .. name)
  else
    local chosen = require('sessiond.config').get().tree
    vim.cmd((chosen.position == 'right' and 'topleft' or 'botright') .. ' vertical new')
    vim.cmd('edit ' .. name)
    if api.nvim_win_is_valid(here) and vim.wo[here].winfixwidth then
      api.nvim_win_set_width(here, math.min(chosen.width, math.floor(vim.o.columns * 0.6)))
    end
  end
  if how == 'preview' then
    api.nvim_set_current_win(here)
  end
end

---Open the buffer of a context.
---@param id string whole id of the session
---@param entry string? default: the leaf
function M.open_context(id, entry)
  local window = require('sessiond.tree.view').of(0) and beside()
  if window then
    api.nvim_set_current_win(window)
    vim.cmd('edit ' .. vim.fn.fnameescape(context_name(id, entry)))
  else
    vim.cmd('split ' .. vim.fn.fnameescape(context_name(id, entry)))
  end
end

---Show an entry in a floating window, which closes when the cursor moves.
---@param id string whole id of the session
---@param entry string
function M.peek(id, entry)
  client.request('view/entry', { sessionId = id, entryId = entry }, function(err, result)
    if err then
      require('sessiond.actions').show_error(err)
      return
    end
    local lines = text.document_lines(result.text)
    if #lines > MAX_PEEK_LINES then
      lines = vim.list_slice(lines, 1, MAX_PEEK_LINES)
    end
    local buffer = vim.lsp.util.open_floating_preview(
      lines,
      '',
      { focus_id = 'sessiond', border = 'rounded', max_height = math.floor(vim.o.lines * 0.6) }
    )
    vim.bo[buffer].modeline = false
    vim.bo[buffer].filetype = 'markdown'
  end)
end

---Show text in a new buffer without a name.
---@param whole string
---@param filetype string
function M.scratch(whole, filetype)
  vim.cmd('new')
  vim.bo.bufhidden = 'wipe'
  show(api.nvim_get_current_buf(), text.lines(whole), filetype)
  vim.bo.modifiable = true
end

---Open a buffer for a new message. `:write` appends the message and closes the window.
---@param id string whole id of the session
---@param parent string? the parent of the message; default: the leaf
function M.compose(id, parent)
  vim.cmd('botright 8new')
  local buffer = api.nvim_get_current_buf()
  api.nvim_buf_set_name(buffer, ('sessiond://session/%s/new/%d.md'):format(encoded(id), buffer))
  vim.bo.buftype, vim.bo.bufhidden, vim.bo.swapfile, vim.bo.modeline = 'acwrite', 'wipe', false, false
  vim.wo.winbar = ('%%#SessiondTitle#A message after %s; :write appends it'):format(
    parent and encoded(parent):gsub('%%', '%%%%') or 'the leaf'
  )
  vim.bo.filetype = 'markdown'
  vim.b.sessiond_session = id
  local is_sending = false
  api.nvim_create_autocmd('BufWriteCmd', {
    buffer = buffer,
    callback = function()
      if is_sending then
        return -- a second `:write` before the response
      end
      local message = vim.trim(table.concat(api.nvim_buf_get_lines(buffer, 0, -1, false), '\n'))
      if message == '' then
        require('sessiond.actions').show_message('The message is empty.')
        return
      end
      is_sending = true
      require('sessiond.actions').append_message(id, parent, message, function(result)
        is_sending = false
        if result and api.nvim_buf_is_valid(buffer) then
          api.nvim_buf_delete(buffer, { force = true })
        end
      end)
    end,
  })
end

return M
