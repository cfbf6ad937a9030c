---sessiond for Neovim: what other Lua may use. Everything is loaded when it is first needed.
---
---There is nothing to set up: `:Sessiond` works without a call of `setup`.
local M = {}

---Options of this Neovim, over those of `vim.g.sessiond`.
---@param options? table see |sessiond-config|
function M.setup(options)
  require('sessiond.config').set(options)
end

---Every method of the protocol: `require('sessiond').api.session.list({ limit = 20 }, callback)`.
---@type sessiond.Api
M.api = setmetatable({}, {
  __index = function(_, noun)
    return require('sessiond.api')[noun]
  end,
}) --[[@as sessiond.Api]]

---Ask the daemon, which is found or started first.
---@param method string
---@param params? table
---@param callback? fun(err: sessiond.RpcError?, result: any)
function M.request(method, params, callback)
  require('sessiond.client').request(method, params, callback)
end

---Ask the daemon and wait for the answer.
---@param method string
---@param params? table
---@param timeout? integer milliseconds
---@return any result or nil
---@return sessiond.RpcError? err
function M.call(method, params, timeout)
  return require('sessiond.client').call(method, params, timeout)
end

---Hear of a session from now on, over outages of the daemon.
---@param session_id string
---@param follower sessiond.Follower
---@return fun() unfollow
function M.follow(session_id, follower)
  return require('sessiond.client').follow(session_id, follower)
end

---Show the tree of a session.
---@param session_id string
function M.open(session_id)
  require('sessiond.tree.window').open(session_id)
end

---The session that a command without an id is about, if there is one.
---@return string?
function M.current()
  return require('sessiond.current').id()
end

---A few words for a statusline; empty when nothing of sessiond is in use. Never asks the daemon.
---@return string
function M.status()
  return require('sessiond.status').text()
end

return M
