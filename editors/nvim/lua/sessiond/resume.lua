---Goes on with a session in the agent that it was read from, or in another one, in a terminal of Neovim.
local M = {}

local text = require('sessiond.text')

---Losses that are listed before the question whether to go on.
local MAX_LOSSES = 8

---Variables that tell where several agents keep their sessions.
local SHARED = { 'HOME', 'TMPDIR', 'XDG_CONFIG_HOME' }

---Return the variables of this process that tell where agents keep their sessions.
---@param agents sessiond.AgentInfo[]
---@return table<string, string>
local function places_of(agents)
  local names = vim.list_extend({}, SHARED)
  for _, agent in ipairs(agents) do
    vim.list_extend(names, agent.variables)
  end
  local found = vim.empty_dict()
  for _, name in ipairs(names) do
    found[name] = vim.env[name]
  end
  return found
end

---@param losses sessiond.Loss[]
---@return string
local function listed(losses)
  local lines = {}
  for number = 1, math.min(#losses, MAX_LOSSES) do
    lines[#lines + 1] = ('%d × %s'):format(losses[number].count, text.one_line(losses[number].name))
  end
  if #losses > MAX_LOSSES then
    lines[#lines + 1] = ('and %d other kinds'):format(#losses - MAX_LOSSES)
  end
  return table.concat(lines, '\n')
end

---Run the command of an agent in a terminal below the other windows.
---@param resumed sessiond.ResumeResult
local function open_terminal(resumed)
  vim.cmd('botright new')
  local options = { cwd = resumed.cwd, env = next(resumed.env) and resumed.env or nil }
  if vim.fn.has('nvim-0.11') == 1 then
    vim.fn.jobstart(resumed.argv, vim.tbl_extend('force', options, { term = true }))
  else
    vim.fn.termopen(resumed.argv, options)
  end
  vim.cmd('startinsert')
end

---@param resumed sessiond.ResumeResult
local function run(resumed)
  if not resumed.importArgv then
    open_terminal(resumed)
    return
  end
  vim.system(resumed.importArgv, { cwd = resumed.cwd, env = resumed.env, text = true }, vim.schedule_wrap(function(done)
    if done.code == 0 then
      open_terminal(resumed)
      return
    end
    local message = ('%s ended with %d: %s'):format(
      resumed.importArgv[1],
      done.code,
      text.one_line(done.stderr ~= '' and done.stderr or done.stdout or '')
    )
    require('sessiond.log').notify(message, vim.log.levels.ERROR)
  end))
end

---Go on with a session. If the format of the agent cannot hold all of it, the user is asked first.
---@param id string whole id of the session
---@param agent? string name of the agent; nil: that of the session
---@param entry? string the last entry of the path; nil: the leaf
function M.run(id, agent, entry)
  local request = require('sessiond.actions').request
  request('agent/list', {}, function(known)
    local params = { sessionId = id, agent = agent, leafId = entry, env = places_of(known.agents) }
    request('session/resume', params, function(resumed)
      if #resumed.losses > 0 then
        local lost = listed(resumed.losses)
        local question = ('%s cannot hold all of the session:\n%s'):format(text.one_line(resumed.agent), lost)
        if vim.fn.confirm(question, '&Go on\n&Cancel', 2) ~= 1 then
          return
        end
      end
      run(resumed)
    end)
  end)
end

---Return the names of the agents for which a session can be written, for completion.
---@param agents sessiond.AgentInfo[]
---@param lead string
---@return string[]
function M.names(agents, lead)
  local names = {}
  for _, agent in ipairs(agents) do
    if agent.isWritable and vim.startswith(agent.name, lead) then
      names[#names + 1] = agent.name
    end
  end
  return names
end

return M
