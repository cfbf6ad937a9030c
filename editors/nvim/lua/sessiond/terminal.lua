---Which terminal this Neovim sits in, named as the command line names it (`client/terminal.py`): so
---`:Sessiond continue` and `sessiond continue` in the same pane mean the same session.
local M = {}

local uv = vim.uv

---Multiplexers first, for a pane stays when it is attached elsewhere. A variable, the kind it tells, and how
---instances are told apart that number their places alike.
---@type {[1]: string, [2]: string, [3]: (string|fun(): string?)?}[]
local VARIABLES = {
  {
    'TMUX_PANE',
    'tmux',
    function()
      return (uv.os_getenv('TMUX') or ''):match('([^,]*),[^,]*$')
    end,
  },
  { 'ZELLIJ_PANE_ID', 'zellij', 'ZELLIJ_SESSION_NAME' },
  { 'STY', 'screen' },
  { 'CMUX_SURFACE_ID', 'cmux' },
  { 'KITTY_WINDOW_ID', 'kitty', 'KITTY_PID' },
  { 'WEZTERM_PANE', 'wezterm', 'WEZTERM_UNIX_SOCKET' },
  { 'TERM_SESSION_ID', 'terminal' },
  { 'WT_SESSION', 'windows-terminal' },
  { 'GNOME_TERMINAL_SCREEN', 'gnome-terminal' },
  { 'TILIX_ID', 'tilix' },
  { 'TERMINATOR_UUID', 'terminator' },
}

---@param name string
---@return string name with what an id may not hold as %XX
local function legal(name)
  name = name:gsub('[^%w._%%@+:-]', function(byte)
    return ('%%%02X'):format(byte:byte())
  end)
  return (name:gsub('^%.', '%%2E'))
end

---@param name string
---@return string? value; nil also when it is empty
local function variable(name)
  local value = uv.os_getenv(name)
  return value ~= '' and value or nil
end

---@param kind string
---@param place string
---@param instance? string
---@return string
local function of(kind, place, instance)
  return instance and instance ~= '' and ('%s:%s@%s'):format(kind, place, instance)
    or ('%s:%s'):format(kind, place)
end

---@param pid integer
---@return string[]? fields of /proc/PID/stat from the third on
local function stat(pid)
  local file = io.open(('/proc/%d/stat'):format(pid), 'rb')
  if not file then
    return nil
  end
  local text = file:read('*a')
  file:close()
  return vim.split(vim.trim(text:match('^.*%)(.*)$') or ''), '%s+')
end

---The session leader of the terminal, and the terminal as `pts-3@<start of the leader>`. The Neovim that
---runs Lua is a child without terminal of the one that draws, so its parent is asked, too.
---@return integer? leader
---@return string? device
local function device()
  for _, pid in ipairs({ vim.fn.getpid(), uv.os_getppid() }) do
    local own = stat(pid)
    local number = own and tonumber(own[5]) or 0
    local major, minor =
      bit.band(bit.rshift(number, 8), 0xfff),
      bit.bor(bit.band(number, 0xff), bit.band(bit.rshift(number, 12), 0xfff00))
    if own and major >= 136 and major <= 143 then
      local leader = tonumber(own[4]) --[[@as integer]]
      local facts = stat(leader)
      if facts then
        return leader, ('pts-%d@%s'):format(minor, facts[20])
      end
    end
  end
end

---@return string? kind
---@return string? name
local function identify(tty)
  local named = variable('SESSIOND_TERMINAL')
  if named then
    return 'named', named
  end
  -- A terminal inside of another editor inherits the variables of the terminal that that was started from.
  local term = variable('TERM') or ''
  local inside = not (vim.startswith(term, 'tmux') or vim.startswith(term, 'screen'))
    and (
      vim.tbl_contains({ 'vscode', 'zed' }, variable('TERM_PROGRAM'))
      or variable('VIM_TERMINAL')
      or variable('INSIDE_EMACS')
      or variable('ZED_TERM')
    )
  if not (tty and inside) then
    for _, known in ipairs(VARIABLES) do
      local value = variable(known[1])
      if value then
        local instance = known[3]
        if known[1] == 'STY' then
          value, instance = variable('WINDOW') or '0', value
        elseif type(instance) == 'function' then
          instance = instance()
        elseif instance then
          instance = variable(instance)
        end
        return known[2], of(known[2], value, instance --[[@as string?]])
      end
    end
  end
  if tty then
    return 'tty', of('tty', tty)
  end
end

---@return sessiond.Terminal? nil when nothing tells
function M.here()
  local leader, tty = device()
  local kind, name = identify(tty)
  if not kind or not name then
    return nil
  end
  return { id = legal(name):sub(1, 128), kind = kind, cwd = uv.cwd(), pid = leader or vim.fn.getpid() }
end

return M
