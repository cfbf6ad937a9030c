---The log of the plugin in `stdpath('log')/sessiond.log`, one line for each event. It has no bodies of messages.
local M = {}

local NAMES = {
  [vim.log.levels.DEBUG] = 'DEBUG',
  [vim.log.levels.INFO] = 'INFO',
  [vim.log.levels.WARN] = 'WARN',
  [vim.log.levels.ERROR] = 'ERROR',
}
---Maximum bytes of the log. A larger one is renamed to `sessiond.log.old`.
local MAX_BYTES = 1024 * 1024

---Return the path of the log file.
---@return string
function M.path()
  return vim.fs.joinpath(vim.fn.stdpath('log') --[[@as string]], 'sessiond.log')
end

---@param level integer of `vim.log.levels`
---@param text string
local function write(level, text)
  if level < require('sessiond.config').get().log_level then
    return
  end
  local path = M.path()
  local size = vim.uv.fs_stat(path)
  if size and size.size > MAX_BYTES then
    os.rename(path, path .. '.old')
  elseif not size then
    vim.fn.mkdir(vim.fs.dirname(path), 'p')
  end
  local file = io.open(path, 'a')
  if file then
    file:write(
      ('%s %s %d %s\n'):format(
        os.date('!%Y-%m-%dT%H:%M:%SZ'),
        NAMES[level],
        vim.fn.getpid(),
        require('sessiond.text').one_line(text)
      )
    )
    file:close()
  end
end

---Write a line of the level DEBUG.
---@param text string
function M.debug(text)
  write(vim.log.levels.DEBUG, text)
end

---Write a line of the level INFO.
---@param text string
function M.info(text)
  write(vim.log.levels.INFO, text)
end

---Write a line of the level WARN.
---@param text string
function M.warn(text)
  write(vim.log.levels.WARN, text)
end

---Notify the user, and write the text to the log.
---@param text string
---@param level? integer of `vim.log.levels`; INFO
function M.notify(text, level)
  level = level or vim.log.levels.INFO
  write(level, text)
  vim.notify('sessiond: ' .. text, level, { title = 'sessiond' })
end

return M
