---The command `:Sessiond`: its subcommands, and the completion of their arguments.
local M = {}

local actions = require('sessiond.actions')

---@class sessiond.Given
---@field words string[] the arguments of the subcommand
---@field rest string the arguments as typed
---@field bang boolean
---@field mods string
---@field range integer how many line numbers were given
---@field line1 integer
---@field line2 integer

---@class sessiond.Subcommand
---@field takes string its arguments, for the help
---@field description string
---@field run fun(given: sessiond.Given)
---@field complete? fun(lead: string, before: string[]): string[]

---@param id string? as typed; default: the current session
---@param callback fun(id: string)
local function with_session(id, callback)
  if not id then
    require('sessiond.current').with(callback)
    return
  end
  actions.request('session/info', { sessionId = id }, function(result)
    callback(result.session.sessionId)
  end)
end

---@param name string? as typed: an id, a label or `@`; without it, the entry under the cursor
---@param callback fun(id: string, entry: string)
local function with_entry(name, callback)
  require('sessiond.current').with(function(id)
    local entry = not name and require('sessiond.current').entry()
    if name then
      require('sessiond.entry_names').resolve(id, name, function(found)
        callback(id, found)
      end)
    elseif entry then
      callback(id, entry)
    else
      actions.show_message('No entry: put the cursor on one in a tree, or give its id or label.')
    end
  end)
end

---@param lead string
---@return string[]
local function complete_agent(lead)
  local result = require('sessiond.client').call('agent/list', {}, 2000)
  return result and require('sessiond.resume').names(result.agents, lead) or {}
end

---@param lead string
---@return string[]
local function complete_entry(lead)
  return require('sessiond.entry_names').complete(lead)
end

---@param lead string
---@param candidates string[]
---@return string[]
local function beginning_with(lead, candidates)
  return vim.tbl_filter(function(candidate)
    return vim.startswith(candidate, lead)
  end, candidates)
end

---@param lead string
---@return string[]
local function session_ids(lead)
  local result =
    require('sessiond.client').call('session/list', { includeDrafts = true, limit = 500 }, 2000)
  local ids = {}
  for _, session in ipairs(result and result.sessions or {}) do
    ids[#ids + 1] = session.sessionId
  end
  return beginning_with(lead, ids)
end

---@param lead string
---@return string[]
local function trashed_ids(lead)
  local result = require('sessiond.client').call('trash/list', {}, 2000)
  return beginning_with(
    lead,
    vim.tbl_map(function(session)
      return session.sessionId
    end, result and result.sessions or {})
  )
end

---@param given sessiond.Given
local function append(given)
  require('sessiond.current').with(function(id)
    if given.range > 0 then
      local lines = vim.api.nvim_buf_get_lines(0, given.line1 - 1, given.line2, false)
      actions.append_message(id, nil, table.concat(lines, '\n'))
    elseif given.rest ~= '' then
      actions.append_message(id, nil, given.rest)
    else
      actions.append(id)
    end
  end)
end

---@param given sessiond.Given
local function restart(given)
  local connect = require('sessiond.connect')
  local function again()
    connect.reconnect(function(err)
      if err then
        actions.show_error(err)
      else
        actions.show_message('Reconnected to sessiond ' .. (connect.state().version or '') .. '.')
      end
    end)
  end
  if given.bang and connect.state().status == 'online' then
    -- Restart the daemon, too. It stops when all entries are on the disk.
    connect.expect_loss()
    require('sessiond.client').request('server/stop', {}, function()
      vim.defer_fn(again, 100)
    end)
  else
    again()
  end
end

local function info()
  require('sessiond.client').request('server/status', {}, function(err, status)
    if err then
      actions.show_error(err)
      return
    end
    local lines = {
      ('sessiond %s, process %d, %d clients, %d open sessions, %.0f MB'):format(
        status.version,
        status.pid,
        status.clientCount,
        status.openSessionCount,
        status.rssBytes / 1e6
      ),
      'socket  ' .. (status.socket or '?'),
      'log     ' .. require('sessiond.locations').find().log,
      'plugin  ' .. require('sessiond.log').path(),
      'client  ' .. require('sessiond.lsp').client_id(),
    }
    local id = require('sessiond.current').id()
    if id then
      lines[#lines + 1] = 'session ' .. id
    end
    require('sessiond.buffers').scratch(table.concat(lines, '\n'), 'text')
  end)
end

local function doctor()
  local command, problem = require('sessiond.connect').command()
  if not command then
    require('sessiond.log').notify(problem --[[@as string]], vim.log.levels.ERROR)
    return
  end
  local home = require('sessiond.locations').home()
  vim.system(
    vim.list_extend(vim.deepcopy(command), { 'doctor' }),
    { text = true, env = { SESSIOND_HOME = home } },
    function(done)
      vim.schedule(function()
        require('sessiond.buffers').scratch((done.stdout or '') .. (done.stderr or ''), 'text')
      end)
    end
  )
end

---@param given sessiond.Given
local function export(given)
  local format = given.words[1] or 'markdown'
  local path = given.words[2]
  if format:find('[./]') and not path then
    format, path = 'markdown', format
  end
  require('sessiond.current').with(function(id)
    actions.export(id, format, path, given.bang)
  end)
end

---@type table<string, sessiond.Subcommand>
M.SUBCOMMANDS = {
  tree = {
    takes = '[session] [filter]',
    description = 'Show the tree of a session',
    run = function(given)
      local filters, id, filter = require('sessiond.config').FILTERS, nil, nil
      for _, word in ipairs(given.words) do
        if vim.tbl_contains(filters, word) then
          filter = word
        else
          id = word
        end
      end
      with_session(id, function(whole)
        local view = require('sessiond.tree.window').open(whole, given.mods)
        if view and filter then
          view:set_filter(filter)
        end
      end)
    end,
    complete = function(lead)
      return vim.list_extend(beginning_with(lead, require('sessiond.config').FILTERS), session_ids(lead))
    end,
  },
  sessions = {
    takes = '[words]',
    description = 'Choose a session of this project (!: of all)',
    run = function(given)
      require('sessiond.sessions').pick(
        { all = given.bang, query = given.rest ~= '' and given.rest or nil },
        function(id)
          require('sessiond.tree.window').open(id, given.mods)
        end
      )
    end,
  },
  list = {
    takes = '[words]',
    description = 'Show the sessions of this project in a buffer that stays current (!: of all)',
    run = function(given)
      require('sessiond.sessions.buffer').open(
        { all = given.bang, query = given.rest ~= '' and given.rest or nil },
        given.mods
      )
    end,
  },
  automated = {
    takes = '',
    description = 'Show automated sessions in lists and pickers, or hide them again',
    run = function()
      local sessions = require('sessiond.sessions')
      sessions.toggle_automated()
      actions.show_message(
        sessions.shows_automated() and 'Lists show automated sessions.' or 'Lists hide automated sessions.'
      )
    end,
  },
  open = {
    takes = '{session or file}',
    description = 'Open a session by its id, the first characters of it, or its file',
    run = function(given)
      local word = given.rest
      if word == '' then
        require('sessiond.sessions').pick({ all = given.bang }, function(id)
          require('sessiond.tree.window').open(id, given.mods)
        end)
        return
      end
      local function open(params)
        actions.request('session/open', params, function(result)
          if #result.problems > 0 then
            require('sessiond.log').notify(
              ('%d lines of this session are invalid'):format(#result.problems),
              vim.log.levels.WARN
            )
          end
          require('sessiond.tree.window').open(result.session.sessionId, given.mods)
        end)
      end
      if word:find('/') then
        open({ path = vim.fn.fnamemodify(word, ':p') })
      else
        actions.whole_id(word, function(id)
          open({ sessionId = id })
        end)
      end
    end,
    complete = function(lead)
      return lead:find('/') and vim.fn.getcompletion(lead, 'file') or session_ids(lead)
    end,
  },
  continue = { takes = '', description = 'Resume the session of this terminal', run = actions.continue },
  new = {
    takes = '[title]',
    description = 'Create a session in this folder',
    run = function(given)
      actions.new(given.rest ~= '' and given.rest or nil)
    end,
  },
  append = {
    takes = '[message]',
    description = 'Append a message: the argument, the lines of a range, or the text of a buffer',
    run = append,
  },
  fork = {
    takes = '[entry] [title]',
    description = 'Copy the path to an entry into a new session',
    run = function(given)
      with_entry(given.words[1], function(id, entry)
        actions.fork(id, entry, given.words[2] and table.concat(given.words, ' ', 2) or nil)
      end)
    end,
    complete = complete_entry,
  },
  branch = {
    takes = '[entry]',
    description = 'Move the leaf to an entry (!: with a summary of the branch that it leaves)',
    run = function(given)
      with_entry(given.words[1], given.bang and actions.branch_summary or actions.branch)
    end,
    complete = complete_entry,
  },
  label = {
    takes = '[label]',
    description = 'Label the entry under the cursor (!: remove its label)',
    run = function(given)
      with_entry(nil, function(id, entry)
        actions.label(id, entry, given.bang and '' or (given.rest ~= '' and given.rest or nil))
      end)
    end,
  },
  labels = {
    takes = '',
    description = 'Choose a labeled entry, and show it in the tree',
    run = function()
      require('sessiond.current').with(require('sessiond.labels').pick)
    end,
  },
  search = {
    takes = '{words}',
    description = 'Search the sessions of this project, with the hits in the quickfix list (!: all sessions)',
    run = function(given)
      local place = { project = not given.bang and vim.uv.cwd() or nil }
      if given.rest == '' then
        vim.ui.input({ prompt = 'Search: ' }, function(words)
          if words and words ~= '' then
            require('sessiond.search').quickfix(words, place)
          end
        end)
      else
        require('sessiond.search').quickfix(given.rest, place)
      end
    end,
  },
  recall = {
    takes = '{question}',
    description = 'Choose what was said about a matter in this project (!: in all sessions)',
    run = function(given)
      local project = not given.bang and vim.uv.cwd() or nil
      if given.rest ~= '' then
        require('sessiond.recall').pick(given.rest, project)
        return
      end
      vim.ui.input({ prompt = 'Recall: ' }, function(question)
        if question and question ~= '' then
          require('sessiond.recall').pick(question, project)
        end
      end)
    end,
  },
  resume = {
    takes = '[agent]',
    description = 'Go on with the session in its agent, or in another one, in a terminal (!: from the entry here)',
    run = function(given)
      local entry = given.bang and require('sessiond.current').entry() or nil
      require('sessiond.current').with(function(id)
        require('sessiond.resume').run(id, given.words[1], entry)
      end)
    end,
    complete = complete_agent,
  },
  context = {
    takes = '[entry]',
    description = 'Show the context that a model receives',
    run = function(given)
      if given.words[1] then
        with_entry(given.words[1], actions.context)
      else
        require('sessiond.current').with(actions.context)
      end
    end,
    complete = complete_entry,
  },
  export = {
    takes = '[format] [file]',
    description = 'Export the session as a transcript or for another program (!: overwrite)',
    run = export,
    complete = function(lead, before)
      return #before == 1 and beginning_with(lead, actions.FORMATS) or vim.fn.getcompletion(lead, 'file')
    end,
  },
  rename = {
    takes = '[title]',
    description = 'Set the title of the session',
    run = function(given)
      require('sessiond.current').with(function(id)
        actions.rename(id, given.rest ~= '' and given.rest or nil)
      end)
    end,
  },
  delete = {
    takes = '[session]',
    description = 'Move a session to the trash (!: without confirmation)',
    run = function(given)
      with_session(given.words[1], function(id)
        actions.delete(id, given.bang)
      end)
    end,
    complete = session_ids,
  },
  restore = {
    takes = '{session}',
    description = 'Restore a session from the trash',
    run = function(given)
      if given.words[1] then
        actions.restore(given.words[1])
      else
        actions.show_message('No session: :Sessiond restore {session}, with completion.')
      end
    end,
    complete = trashed_ids,
  },
  storage = {
    takes = '',
    description = 'Show the space that sessions take, and what agents will delete',
    run = function(given)
      require('sessiond.storage').open(given.mods)
    end,
  },
  log = {
    takes = '',
    description = 'Show the log of the daemon (!: of the plugin)',
    run = function(given)
      local path = given.bang and require('sessiond.log').path() or require('sessiond.locations').find().log
      vim.cmd('split ' .. vim.fn.fnameescape(path))
      vim.bo.modeline, vim.bo.readonly, vim.bo.autoread = false, true, true
      vim.cmd('normal! G')
    end,
  },
  restart = { takes = '', description = 'Reconnect (!: and restart the daemon)', run = restart },
  info = { takes = '', description = 'Show the state of the daemon and the path of its log', run = info },
  doctor = { takes = '', description = 'Run `sessiond doctor` and show its output', run = doctor },
}

---@return string[]
local function names()
  local known = vim.tbl_keys(M.SUBCOMMANDS)
  table.sort(known)
  return known
end

---Run `:Sessiond`.
---@param given table the argument of a callback of `nvim_create_user_command`
function M.run(given)
  local name = given.fargs[1] or 'tree'
  local subcommand = M.SUBCOMMANDS[name]
  if not subcommand then
    require('sessiond.log').notify(
      ('unknown subcommand %s; :help :Sessiond lists the subcommands'):format(name),
      vim.log.levels.ERROR
    )
    return
  end
  require('sessiond.pick').begin()
  subcommand.run({
    words = vim.list_slice(given.fargs, 2),
    rest = vim.trim((given.args:gsub('^%S+', '', 1))),
    bang = given.bang,
    mods = given.mods or '',
    range = given.range,
    line1 = given.line1,
    line2 = given.line2,
  })
end

---Complete the arguments of `:Sessiond`.
---@param lead string the beginning of the argument
---@param line string the command line
---@param position integer of the cursor in it, in bytes
---@return string[]
function M.complete(lead, line, position)
  local before = vim.split(vim.trim(line:sub(1, position - #lead)), '%s+')
  while before[1] and not before[1]:find('Sessiond!?$') do
    table.remove(before, 1)
  end
  table.remove(before, 1)
  if #before == 0 then
    return beginning_with(lead, names())
  end
  local subcommand = M.SUBCOMMANDS[before[1]]
  if subcommand and subcommand.complete then
    return subcommand.complete(lead, before)
  end
  return {}
end

return M
