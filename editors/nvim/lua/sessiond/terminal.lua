---The identity of the terminal in which this Neovim runs, as protocol.md ("The identity of a terminal") defines it and
---the command line computes it. So `:Sessiond continue` and `sessiond continue` resume the same session in a pane.
local M = {}

local uv = vim.uv

---A kind of terminal, and the variables that identify one.
---@class (private) sessiond.TerminalRow
---@field kind string
---@field place string variable of the pane or window
---@field instance? string variable that distinguishes programs with equal numbers of panes
---@field programs table<string, true> values of TERM_PROGRAM
---@field multiplexer? true
---@field server? true whether the instance contains the process id of the program that starts the panes

---@type sessiond.TerminalRow[]
local ROWS = {
  {
    kind = 'tmux',
    place = 'TMUX_PANE',
    instance = 'TMUX',
    programs = { tmux = true },
    multiplexer = true,
    server = true,
  },
  { kind = 'screen', place = 'WINDOW', instance = 'STY', programs = {}, multiplexer = true, server = true },
  {
    kind = 'kitty',
    place = 'KITTY_WINDOW_ID',
    instance = 'KITTY_PID',
    programs = { kitty = true },
    server = true,
  },
  {
    kind = 'zellij',
    place = 'ZELLIJ_PANE_ID',
    instance = 'ZELLIJ_SESSION_NAME',
    programs = {},
    multiplexer = true,
  },
  { kind = 'cmux', place = 'CMUX_SURFACE_ID', programs = {}, multiplexer = true },
  {
    kind = 'wezterm',
    place = 'WEZTERM_PANE',
    instance = 'WEZTERM_UNIX_SOCKET',
    programs = { WezTerm = true },
  },
  {
    kind = 'terminal',
    place = 'TERM_SESSION_ID',
    programs = { ['iTerm.app'] = true, ['Apple_Terminal'] = true },
  },
  { kind = 'windows-terminal', place = 'WT_SESSION', programs = {} },
  { kind = 'gnome-terminal', place = 'GNOME_TERMINAL_SCREEN', programs = {} },
  { kind = 'tilix', place = 'TILIX_ID', programs = {} },
  { kind = 'terminator', place = 'TERMINATOR_UUID', programs = {} },
}

---@class (private) sessiond.ProcessStatus
---@field pid integer
---@field parent integer
---@field session integer
---@field device integer
---@field start string

---@param path string
---@return string?
local function read(path)
  local file = io.open(path, 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return text
end

---@param pid integer
---@return sessiond.ProcessStatus? nil: the process is not visible
local function status(pid)
  local text = read(('/proc/%d/stat'):format(pid))
  if not text then
    return nil
  end
  -- The command in brackets may contain any characters, so its end is searched for. Fields 3 and later follow.
  local fields = vim.split(vim.trim(text:match('^.*%)(.*)$') or ''), '%s+')
  return {
    pid = pid,
    parent = tonumber(fields[2]) --[[@as integer]],
    session = tonumber(fields[4]) --[[@as integer]],
    device = tonumber(fields[5]) --[[@as integer]],
    start = fields[20],
  }
end

---@param pid integer
---@return table<string, string>? environ the initial environment of the process; nil: it cannot be read
local function environ_of(pid)
  local text = read(('/proc/%d/environ'):format(pid))
  if not text then
    return nil
  end
  local found = {}
  for pair in text:gmatch('[^%z]+') do
    local name, value = pair:match('^([^=]*)=(.*)$')
    if name then
      found[name] = value
    end
  end
  return found
end

---The environment of this process, as `vim.uv.os_setenv` leaves it.
local own = setmetatable({}, {
  __index = function(_, name)
    return uv.os_getenv(name)
  end,
})

---@param row sessiond.TerminalRow
---@param environ table<string, string>
---@return string place
---@return string instance
local function values(row, environ)
  local place = environ[row.place] or ''
  local instance = row.instance and environ[row.instance] or ''
  if row.kind == 'tmux' then
    instance = instance:match('([^,]*),[^,]*$') or ''
  elseif row.kind == 'screen' and place == '' then
    place = '0'
  end
  return place, instance
end

---@param row sessiond.TerminalRow
---@param environ table<string, string>
---@return integer? pid of the program that starts the panes
local function server(row, environ)
  if not row.server then
    return nil
  end
  local _, instance = values(row, environ)
  return tonumber(instance:match('^(%d+)$') or instance:match('^(%d+)%.')) --[[@as integer?]]
end

---@param environ table<string, string>
---@return sessiond.TerminalRow[] rows whose variable is set
local function rows_in(environ)
  return vim.tbl_filter(function(row)
    return (environ[row.kind == 'screen' and row.instance or row.place] or '') ~= ''
  end, ROWS)
end

---@param environ table<string, string>
---@return boolean
local function inside_editor(environ)
  if (environ.VSCODE_PID or '') ~= '' then
    return true
  end
  local term = environ.TERM or ''
  if vim.startswith(term, 'tmux') or vim.startswith(term, 'screen') then
    return false
  end
  for _, name in ipairs({ 'NVIM', 'VIM_TERMINAL', 'INSIDE_EMACS', 'ZED_TERM' }) do
    if (environ[name] or '') ~= '' and environ[name] ~= vim.v.servername then
      return true
    end
  end
  return environ.TERM_PROGRAM == 'vscode' or environ.TERM_PROGRAM == 'zed'
end

---@param environ table<string, string>
---@return sessiond.TerminalRow? row the only row whose variables are set; nil: some may be inherited
local function row_by_environment(environ)
  if inside_editor(environ) then
    return nil
  end
  local rows = rows_in(environ)
  local multiplexers = vim.tbl_filter(function(row)
    return row.multiplexer
  end, rows)
  rows = #multiplexers > 0 and multiplexers or rows
  if #rows ~= 1 then
    return nil
  end
  local term, program = environ.TERM or '', environ.TERM_PROGRAM or ''
  local innermost = rows[1].multiplexer and (vim.startswith(term, 'tmux') or vim.startswith(term, 'screen'))
  return (program == '' or rows[1].programs[program] or innermost) and rows[1] or nil
end

---@param row? sessiond.TerminalRow
---@param leader sessiond.ProcessStatus
---@return boolean whether the server that the environment names started this process with the same variables
local function is_pane(row, leader)
  if not row or server(row, own) ~= leader.parent then
    return false
  end
  local given = environ_of(leader.pid) or {}
  return given[row.place] == own[row.place] and (not row.instance or given[row.instance] == own[row.instance])
end

---@return sessiond.ProcessStatus? process of the terminal
local function process_on_terminal()
  -- The Neovim process that runs Lua has no terminal. The process that draws is its parent.
  local process = status(vim.fn.getpid())
  while process do
    if process.device ~= 0 then
      return process
    end
    process = status(process.parent)
  end
  local devices = {}
  for descriptor = 0, 2 do
    local stat = uv.guess_handle(descriptor) == 'tty' and uv.fs_fstat(descriptor)
    if stat then
      devices[tonumber(stat.rdev)] = true
    end
  end
  local row = row_by_environment(own)
  row = row and server(row, own) and row or nil
  if not row and not next(devices) then
    return nil
  end
  for name in vim.fs.dir('/proc') do
    local leader = name:find('^%d+$') and status(tonumber(name) --[[@as integer]])
    if leader and leader.session == leader.pid and leader.device ~= 0 then
      if devices[leader.device] or is_pane(row, leader) then
        return leader
      end
    end
  end
end

---@param process sessiond.ProcessStatus
---@return sessiond.ProcessStatus first visible process of its session
---@return boolean leads whether it is the leader of the session
local function eldest(process)
  local leader = process.session > 0 and status(process.session)
  if leader then
    return leader, true
  end
  local parent = status(process.parent)
  while parent and parent.session == process.session do
    process, parent = parent, status(parent.parent)
  end
  return process, false
end

---@param number integer
---@return string
local function device_name(number)
  local major = bit.band(bit.rshift(number, 8), 0xfff)
  local minor = bit.bor(bit.band(number, 0xff), bit.band(bit.rshift(number, 12), 0xfff00))
  return major == 136 and ('pts-%d'):format(minor) or ('%d-%d'):format(major, minor)
end

---The first process of a terminal, or of this session if there is no terminal.
---@class sessiond.FirstProcess
---@field pid integer
---@field start string
---@field device? string name of the terminal; nil: there is none
---@field parent? integer nil: the leader of the session is not visible
---@field environ? table<string, string> nil: it cannot be read
---@field parent_environ? table<string, string> nil: it cannot be read

---@return sessiond.FirstProcess? nil: there is no /proc
local function first_process()
  local process = process_on_terminal()
  if not process then
    local this = status(vim.fn.getpid())
    local first = this and eldest(this)
    return first and { pid = first.pid, start = first.start }
  end
  local first, leads = eldest(process)
  return {
    pid = first.pid,
    start = first.start,
    device = device_name(process.device),
    parent = leads and first.parent or nil,
    environ = leads and environ_of(first.pid) or nil,
    parent_environ = leads and environ_of(first.parent) or nil,
  }
end

---@param environ table<string, string>
---@param first sessiond.FirstProcess
---@return sessiond.TerminalRow? row whose variables the parent of the terminal's first process has set
---@return table<string, string> environ
local function row_by_parent(environ, first)
  local given, inherited = first.environ or environ, first.parent_environ
  for _, row in ipairs(rows_in(given)) do
    if row.server then
      if server(row, given) == first.parent then
        return row, given
      end
    elseif inherited then
      local differs = given[row.place] ~= inherited[row.place]
      if differs or (row.instance and given[row.instance] ~= inherited[row.instance]) then
        return row, given
      end
    end
  end
  return nil, given
end

---@param bytes string
---@return string crc32 in hexadecimal digits
local function crc32(bytes)
  local sum = bit.bnot(0)
  for index = 1, #bytes do
    sum = bit.bxor(sum, bytes:byte(index))
    for _ = 1, 8 do
      sum = bit.bxor(bit.rshift(sum, 1), bit.band(0xedb88320, -bit.band(sum, 1)))
    end
  end
  return bit.tohex(bit.bnot(sum))
end

---@param name string
---@return string id the name with invalid characters as %XX; a long one is shortened and ends in a checksum
local function legal(name)
  local id = name
    :gsub('[^A-Za-z0-9._%%@+:-]', function(byte)
      return ('%%%02X'):format(byte:byte())
    end)
    :gsub('^%.', '%%2E')
  return #id <= 128 and id or id:sub(1, 119) .. '+' .. crc32(name)
end

---@param row sessiond.TerminalRow
---@param environ table<string, string>
---@return string
local function name_of(row, environ)
  local place, instance = values(row, environ)
  return row.kind .. ':' .. place .. (instance ~= '' and '@' .. instance or '')
end

---Identify a terminal.
---@param environ table<string, string> of a process in the terminal
---@param first? sessiond.FirstProcess
---@return string? id nil: it cannot be identified
---@return string? kind
function M.identify(environ, first)
  if (environ.SESSIOND_TERMINAL or '') ~= '' then
    return legal(environ.SESSIOND_TERMINAL), 'named'
  end
  local row, given
  if first and first.device and first.parent then
    row, given = row_by_parent(environ, first)
  else
    row, given = row_by_environment(environ), environ
  end
  if row then
    return legal(name_of(row, given)), row.kind
  end
  if first and first.device then
    return legal(('tty:%s@%s'):format(first.device, first.start)), 'tty'
  end
end

---Identify the terminal of this process.
---@return sessiond.Terminal? terminal nil: it cannot be identified
function M.here()
  local first = first_process()
  local id, kind = M.identify(own, first)
  if not id then
    return nil
  end
  return {
    id = id,
    kind = kind,
    cwd = uv.cwd(),
    pid = first and first.pid or vim.fn.getpid(),
    startTime = first and tonumber(first.start) or nil,
  }
end

return M
