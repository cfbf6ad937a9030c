---What the plugin did, for people: one line each in `stdpath('log')/sessiond.log`. No bodies of messages.
local M = {}

local NAMES = {
  [vim.log.levels.DEBUG] = 'DEBUG',
  [vim.log.levels.INFO] = 'INFO',
  [vim.log.levels.WARN] = 'WARN',
  [vim.log.levels.ERROR] = 'ERROR',
}
local LARGEST = 1024 * 1024

---@return string path of the log file
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
  if size and size.size > LARGEST then
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

---@param text string
function M.debug(text)
  write(vim.log.levels.DEBUG, text)
end

---@param text string
function M.info(text)
  write(vim.log.levels.INFO, text)
end

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
