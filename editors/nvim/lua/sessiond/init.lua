---The Lua API of sessiond for Neovim. Modules are loaded on first use.
---
---No setup is needed: `:Sessiond` works without a call of `setup`.
local M = {}

---Set options, which override those of `vim.g.sessiond`.
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

---Send a request to the daemon, which is found or started first.
---@param method string
---@param params? table
---@param callback? fun(err: sessiond.RpcError?, result: any) called on the main loop
function M.request(method, params, callback)
  require('sessiond.client').request(method, params, callback)
end

---Send a request and wait for the response.
---@param method string
---@param params? table
---@param timeout? integer milliseconds; default: the option `timeout`
---@return any result nil after an error
---@return sessiond.RpcError? err
function M.call(method, params, timeout)
  return require('sessiond.client').call(method, params, timeout)
end

---Subscribe to a session, across outages of the daemon.
---@param session_id string whole id
---@param follower sessiond.Follower
---@return fun() unfollow ends the subscription
function M.follow(session_id, follower)
  return require('sessiond.client').follow(session_id, follower)
end

---Show the tree of a session.
---@param session_id string whole id
function M.open(session_id)
  require('sessiond.tree.window').open(session_id)
end

---Return the default session of a command.
---@return string? id nil: none was shown yet
function M.current()
  return require('sessiond.current').id()
end

---Return a short text for a statusline. Sends no request.
---@return string text empty if sessiond is not in use
function M.status()
  return require('sessiond.status').text()
end

return M
