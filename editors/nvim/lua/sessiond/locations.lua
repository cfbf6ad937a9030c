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

---@param name string of a variable
---@param default string below the home folder
---@param home string
---@return string
local function xdg(name, default, home)
  local base = vim.trim(uv.os_getenv(name) or '')
  if base:sub(1, 1) ~= '/' then
    base = home .. default
  end
  return vim.fs.normalize(base) .. '/sessiond'
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
      return vim.fs.normalize(path)
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
  return ('%s/sessiond%s-%s'):format(base, owner or '', vim.fn.sha256(state):sub(1, 12))
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
    return short_enough(state .. '/run', state)
  end
  local usual = vim.fs.normalize(uv.os_get_passwd().homedir) .. '/.local/state/sessiond'
  if state == usual then
    return short_enough(base .. '/sessiond', state)
  end
  return hashed(base, state)
end

---@param path string
---@return string absolute
local function absolute(path)
  if path:sub(1, 1) == '~' then
    path = vim.fn.expand(path:match('^~[^/]*')) .. (path:match('^~[^/]*(.*)$') or '')
  end
  if path:sub(1, 1) ~= '/' then
    path = uv.cwd() .. '/' .. path
  end
  return (vim.fn.simplify(path):gsub('(.)/+$', '%1'))
end

---Return the configured home of sessiond, from the options or SESSIOND_HOME.
---@return string? home nil: the usual folders are used
function M.home()
  local home = require('sessiond.config').get().home or uv.os_getenv('SESSIOND_HOME')
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
    state, config = home .. '/state', home .. '/config'
    runtime = short_enough(home .. '/run', state)
  elseif uv.os_uname().sysname == 'Darwin' then
    state = uv.os_homedir() .. '/Library/Application Support/sessiond'
    config, runtime = state, runtime_of(state)
  else
    local user = uv.os_getenv('HOME') or uv.os_homedir()
    state, config = xdg('XDG_STATE_HOME', '/.local/state', user), xdg('XDG_CONFIG_HOME', '/.config', user)
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
  if type(published) ~= 'string' or published == computed then
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
