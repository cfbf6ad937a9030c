---The locations of the user's daemon. They are computed as the daemon does (`paths.py`).
local M = {}

local uv = vim.uv

---Maximum bytes of the path of a socket. If it is longer, another folder is used.
local MAX_SOCKET_PATH_BYTES = 100

---@class sessiond.Locations
---@field state string
---@field endpoint string the file in which the running daemon publishes its socket
---@field socket string the socket on which it listens by default
---@field log string its log file
---@field config string its configuration file

---@param path string absolute
---@return string normalized, with its variables as they are
local function normalized(path)
  return vim.fs.normalize(path, { expand_env = false })
end

---@param folder string
---@param name string
---@return string
local function below(folder, name)
  return folder .. (folder:sub(-1) == '/' and '' or '/') .. name
end

---@return string the folder of the user
local function user_home()
  return uv.os_getenv('HOME') or uv.os_get_passwd().homedir
end

---@param name string of a variable
---@param default string below the home folder
---@return string
local function xdg(name, default)
  local base = vim.trim(uv.os_getenv(name) or '')
  if base:sub(1, 1) ~= '/' then
    base = user_home() .. default
  end
  return below(normalized(base), 'sessiond')
end

---@param path string
---@return boolean whether it is a folder of this user that no other user can read
local function is_private(path)
  local found = uv.fs_lstat(path)
  return found ~= nil
    and found.type == 'directory'
    and found.uid == uv.getuid()
    and bit.band(found.mode, 63) == 0
end

---@return string?
local function runtime_base()
  for _, path in ipairs({ uv.os_getenv('XDG_RUNTIME_DIR') or '', '/run/user/' .. uv.getuid() }) do
    if path:sub(1, 1) == '/' and is_private(path) then
      return normalized(path)
    end
  end
end

---@param runtime string
---@return boolean
local function fits(runtime)
  return #runtime + #'/sessiond.sock' <= MAX_SOCKET_PATH_BYTES
end

---@param base string
---@param state string
---@param owner? string
---@return string
local function hashed(base, state, owner)
  return below(base, ('sessiond%s-%s'):format(owner or '', vim.fn.sha256(state):sub(1, 12)))
end

---@param runtime string
---@param state string
---@return string
local function short_enough(runtime, state)
  if fits(runtime) then
    return runtime
  end
  local base = runtime_base()
  if base and fits(hashed(base, state)) then
    return hashed(base, state)
  end
  return hashed('/tmp', state, '-' .. uv.getuid())
end

---@param state string
---@return string
local function runtime_of(state)
  local base = runtime_base()
  if not base then
    return short_enough(below(state, 'run'), state)
  end
  if state == below(normalized(uv.os_get_passwd().homedir), '.local/state/sessiond') then
    return short_enough(below(base, 'sessiond'), state)
  end
  return hashed(base, state)
end

---@param path string
---@return string absolute
local function absolute(path)
  local name, rest = path:match('^~([^/]*)(.*)$')
  if name then
    -- `expand` returns the text itself if there is no such user, and must not see any pattern.
    local home = name == '' and user_home() or name:match('^[%w_.-]+$') and vim.fn.expand('~' .. name)
    if home and home:sub(1, 1) ~= '~' then
      path = home:gsub('/+$', '') .. rest
      path = path == '' and '/' or path
    end
  end
  if path:sub(1, 1) ~= '/' then
    path = below(uv.cwd(), path)
  end
  return normalized(path)
end

---Return the configured home of sessiond, from the options or SESSIOND_HOME.
---@return string? home nil: the usual folders are used
function M.home()
  local home = require('sessiond.config').get().home
  if not home or home == '' then
    home = uv.os_getenv('SESSIOND_HOME')
  end
  if home and home ~= '' then
    return absolute(home)
  end
end

---Compute the locations.
---@return sessiond.Locations
function M.find()
  local home = M.home()
  local state, config, runtime
  if home then
    state, config = below(home, 'state'), below(home, 'config')
    runtime = short_enough(below(home, 'run'), state)
  elseif uv.os_uname().sysname == 'Darwin' then
    state = uv.os_homedir() .. '/Library/Application Support/sessiond'
    config, runtime = state, runtime_of(state)
  else
    state, config = xdg('XDG_STATE_HOME', '/.local/state'), xdg('XDG_CONFIG_HOME', '/.config')
    runtime = runtime_of(state)
  end
  return {
    state = state,
    endpoint = state .. '/endpoint.json',
    socket = runtime .. '/sessiond.sock',
    log = state .. '/sessiond.log',
    config = config .. '/config.toml',
  }
end

---Read the endpoint file. It may be outdated: a killed daemon does not remove it.
---@return table endpoint empty if it cannot be read
function M.endpoint()
  local file = io.open(M.find().endpoint, 'rb')
  if not file then
    return {}
  end
  local text = file:read(65536) or ''
  file:close()
  local ok, content = pcall(vim.json.decode, text, { luanil = { object = true, array = true } })
  return ok and type(content) == 'table' and content or {}
end

---Return the sockets to try, the most likely first.
---@return string[]
function M.sockets()
  local computed, published = M.find().socket, M.endpoint().socket
  if type(published) ~= 'string' or published:sub(1, 1) ~= '/' or published == computed then
    return { computed }
  end
  return { published, computed }
end

---Return why a socket must not be used. The socket of another user could read all prompts.
---@param path string
---@return string? reason nil: it is safe
function M.unsafe(path)
  local found = uv.fs_stat(path)
  if found and found.uid ~= uv.getuid() then
    return ('%s belongs to user id %d, not to you'):format(path, found.uid)
  end
  local folder = uv.fs_stat(vim.fs.dirname(path))
  if folder and (folder.uid ~= uv.getuid() or bit.band(folder.mode, 18) ~= 0) then
    return ('others may write to the folder of %s'):format(path)
  end
end

return M
