---The space that sessions take, and what agents will delete, in the buffer `sessiond://storage`.
local M = {}

local api = vim.api
local buffer_lines = require('sessiond.buffer_lines')
local text = require('sessiond.text')

local MAX_NAME = 40
local MAX_MONTHS = 12
local BAR = 20

---The sessions of each buffer, by their lines.
---@type table<integer, table<integer, string>>
local shown = {}

---@param amount number
---@param one string
---@param many? string
---@return string
local function count(amount, one, many)
  return ('%d %s'):format(amount, amount == 1 and one or many or one .. 's')
end

---@param path string
---@return string
local function folder(path)
  return path == '' and 'no folder' or text.one_line(vim.fn.fnamemodify(path, ':~'))
end

---Add a table with a bar for each share.
---@param lines string[]
---@param heading string
---@param counted string
---@param shares sessiond.StorageShare[]
local function add_table(lines, heading, counted, shares)
  if #shares == 0 then
    return
  end
  local total, largest, width = 0, 1, 0
  for _, share in ipairs(shares) do
    total, largest = total + share.sizeBytes, math.max(largest, share.sizeBytes)
    width = math.max(width, math.min(api.nvim_strwidth(text.one_line(share.title)), MAX_NAME))
  end
  vim.list_extend(lines, { '', heading })
  for _, share in ipairs(shares) do
    lines[#lines + 1] = ('  %s  %s  %7s  %3.0f %%  %s'):format(
      text.pad(text.fit(text.one_line(share.title), MAX_NAME), width),
      text.pad(('█'):rep(math.ceil(share.sizeBytes / largest * BAR)), BAR),
      text.size(share.sizeBytes),
      100 * share.sizeBytes / math.max(total, 1),
      count(share.count, counted)
    )
  end
end

---@param lines string[]
---@param report sessiond.StorageReportResult
local function add_report(lines, report)
  local free = report.freeBytes and (', %s free'):format(text.size(report.freeBytes)) or ''
  lines[#lines + 1] = ('%s in all%s'):format(text.size(report.totalBytes), free)
  add_table(
    lines,
    'by kind',
    'file',
    vim.tbl_filter(function(kind)
      return kind.count > 0
    end, report.kinds)
  )
  add_table(lines, 'by agent', 'session', report.agents)
  local projects = vim.tbl_map(function(project)
    return vim.tbl_extend('force', project, { title = folder(project.key) })
  end, report.projects)
  add_table(lines, 'by project', 'session', projects)
  if report.projectCount > #projects then
    lines[#lines + 1] = '  and ' .. count(report.projectCount - #projects, 'smaller project')
  end
  add_table(lines, 'by month', 'session', vim.list_slice(report.months, 1, MAX_MONTHS))
  local earlier = 0
  for _, month in ipairs(vim.list_slice(report.months, MAX_MONTHS + 1)) do
    earlier = earlier + month.sizeBytes
  end
  if #report.months > MAX_MONTHS then
    lines[#lines + 1] = ('  and %s of %s'):format(text.size(earlier), count(#report.months - MAX_MONTHS, 'earlier month'))
  end
end

---@param lines string[]
---@param sessions sessiond.LargeSession[]
---@return table<integer, string> ids the sessions by their lines
local function add_sessions(lines, sessions)
  local ids = {}
  if #sessions > 0 then
    vim.list_extend(lines, { '', 'largest sessions' })
  end
  for _, session in ipairs(sessions) do
    lines[#lines + 1] = ('  %7s  %-4s  %s  %s'):format(
      text.size(session.logBytes + session.blobBytes),
      text.ago(session.updatedAt),
      text.pad(text.fit(folder(session.cwd), BAR), BAR),
      text.title(session)
    )
    ids[#lines] = session.sessionId
  end
  return ids
end

---@param lines string[]
---@param agents sessiond.AgentStorage[]
local function add_agents(lines, agents)
  add_table(
    lines,
    'folders of agents',
    'session file',
    vim.tbl_map(function(agent)
      return { title = agent.title, count = agent.fileCount, sizeBytes = agent.sessionBytes + agent.otherBytes }
    end, agents)
  )
  for _, agent in ipairs(agents) do
    local deletion = agent.deletion
    if deletion then
      local advice = deletion.missingCount > 0
          and not agent.isFollowed
          and (' To keep them: sessiond agents follow %s'):format(agent.agent)
        or ''
      vim.list_extend(lines, { '', text.one_line(deletion.message) .. advice, text.one_line(deletion.remark) })
      for _, path in ipairs(deletion.missing) do
        lines[#lines + 1] = '  ' .. text.one_line(path)
      end
    end
  end
end

---@param buffer integer
---@param report sessiond.StorageReportResult
---@param agents? sessiond.AgentStorage[] nil: not measured yet
local function draw(buffer, report, agents)
  local lines = {}
  add_report(lines, report)
  shown[buffer] = add_sessions(lines, report.sessions)
  if agents then
    add_agents(lines, agents)
  else
    vim.list_extend(lines, { '', 'measuring the folders of agents …' })
  end
  buffer_lines.update(buffer, lines)
end

---@param buffer integer
local function read(buffer)
  local client = require('sessiond.client')
  local function requested(method, callback)
    client.request(method, {}, function(err, result)
      if not api.nvim_buf_is_valid(buffer) then
        return
      elseif err then
        require('sessiond.actions').show_error(err)
      else
        callback(result)
      end
    end)
  end
  requested('storage/report', function(report)
    draw(buffer, report)
    requested('storage/agents', function(measured)
      draw(buffer, report, measured.agents)
    end)
  end)
end

---Make a buffer the report, and measure.
---@param buffer integer
function M.attach(buffer)
  local options = vim.bo[buffer]
  options.buftype, options.swapfile, options.modeline, options.undolevels = 'nofile', false, false, -1
  options.bufhidden, options.modifiable, options.buflisted = 'hide', false, false
  shown[buffer] = {}
  api.nvim_create_autocmd('BufUnload', {
    group = 'sessiond',
    buffer = buffer,
    once = true,
    callback = function()
      shown[buffer] = nil
    end,
  })
  local keys = {
    ['<CR>'] = {
      'show the tree of a session',
      function()
        local id = shown[buffer][api.nvim_win_get_cursor(0)[1]]
        if id then
          require('sessiond.tree.window').open(id)
        end
      end,
    },
    R = {
      'measure again',
      function()
        read(buffer)
      end,
    },
    q = {
      'close',
      function()
        if not pcall(vim.cmd.close) then
          vim.cmd.enew()
        end
      end,
    },
  }
  for key, action in pairs(keys) do
    vim.keymap.set('n', key, action[2], { buffer = buffer, nowait = true, desc = 'sessiond: ' .. action[1] })
  end
  options.filetype = 'sessiond-storage'
  read(buffer)
end

---Show the report in a split.
---@param modifiers string such as `vertical` or `tab`
function M.open(modifiers)
  vim.cmd(modifiers .. ' split sessiond://storage')
  vim.wo.wrap, vim.wo.linebreak = true, true
end

return M
