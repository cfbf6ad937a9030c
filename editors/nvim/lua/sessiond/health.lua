---`:checkhealth sessiond`: checks Neovim, the command, the daemon and optional plugins.
local M = {}

local health = vim.health

local function check_neovim()
  health.start('Neovim')
  local version = tostring(vim.version())
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. version)
  else
    health.error(('Neovim %s is too old: the plugin needs 0.10 or newer'):format(version))
  end
  local problems = require('sessiond.config').problems()
  if #problems == 0 then
    health.ok('the configuration is valid')
  end
  for _, problem in ipairs(problems) do
    health.error('configuration: ' .. problem, { 'see :help sessiond-config' })
  end
end

---@return boolean
local function check_command()
  health.start('The sessiond command')
  local command, problem = require('sessiond.connect').command()
  if not command then
    health.error(problem --[[@as string]], { 'see :help sessiond-install' })
    return false
  end
  health.ok(('%s is %s'):format(command[1], vim.fn.exepath(command[1])))
  local ok, ran = pcall(function()
    return vim
      .system(vim.list_extend(vim.deepcopy(command), { '--version' }), { text = true, timeout = 20000 })
      :wait()
  end)
  if ok and ran.code == 0 then
    health.ok(vim.trim(ran.stdout))
  else
    health.error('it fails: ' .. vim.trim(ok and (ran.stderr or '') or tostring(ran)))
  end
  return true
end

local function check_daemon()
  health.start('The daemon')
  local locations = require('sessiond.locations')
  local found = locations.find()
  for _, socket in ipairs(locations.sockets()) do
    local unsafe = locations.unsafe(socket)
    if unsafe then
      health.error('the socket cannot be used: ' .. unsafe)
    elseif vim.uv.fs_stat(socket) then
      health.ok('socket: ' .. socket)
    else
      health.info('no socket at ' .. socket .. ': the daemon does not run, or listens elsewhere')
    end
  end
  local status, err = require('sessiond.client').call('server/status', {}, 20000)
  if not status then
    health.error('no connection: ' .. (err and err.message or '?'), { 'its log is ' .. found.log })
  else
    health.ok(
      ('connected to sessiond %s, process %d, %d clients, %d open sessions'):format(
        status.version,
        status.pid,
        status.clientCount,
        status.openSessionCount
      )
    )
    local handshake = require('sessiond.connect').state().handshake
    if handshake then
      health.ok(('protocol version %d, %d methods'):format(handshake.protocolVersion, #handshake.methods))
      for _, method in ipairs({
        'session/tree',
        'session/subscribe',
        'view/entry',
        'session/search',
      }) do
        if not vim.tbl_contains(handshake.methods, method) then
          health.error(
            ('the daemon is too old: it has no %s'):format(method),
            { 'update sessiond, then :Sessiond restart' }
          )
        end
      end
    end
  end
  health.info('log of the daemon: ' .. found.log)
  health.info('settings of the daemon: ' .. found.config)
  health.info('log of the plugin: ' .. require('sessiond.log').path())
  local terminal = require('sessiond.terminal').here()
  health.info(
    'this terminal: '
      .. (terminal and terminal.id or 'not identified; :Sessiond continue uses only the folder')
  )
end

local function check_optional()
  health.start('Optional')
  for module, use in pairs({
    telescope = ':Telescope sessiond',
    ['snacks.picker'] = 'picker = "snacks"',
    ['fzf-lua'] = 'picker = "fzf-lua"',
    lualine = 'component "sessiond"',
  }) do
    if pcall(require, module) then
      health.ok(('%s is installed: %s'):format(module, use))
    else
      health.info(('%s is not installed (%s)'):format(module, use))
    end
  end
end

---Run all checks.
function M.check()
  check_neovim()
  if check_command() then
    check_daemon()
  end
  check_optional()
end

return M
