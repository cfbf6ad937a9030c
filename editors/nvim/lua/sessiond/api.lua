---Every method of the protocol as a function: `api.session.tree(params, callback)`.
---
---Without a callback the call waits, and returns the result, or nil and the error. `sessiond.protocol` has the types of
---the params and results, which protocol.md documents.
---@class sessiond.Api
---@field session table<string, fun(params?: table, callback?: fun(err: sessiond.RpcError?, result: any)): any, sessiond.RpcError?>
---@field server table<string, fun(params?: table, callback?: fun(err: sessiond.RpcError?, result: any)): any, sessiond.RpcError?>
---@field history table<string, fun(params?: table, callback?: fun(err: sessiond.RpcError?, result: any)): any, sessiond.RpcError?>
---@field blob table<string, fun(params?: table, callback?: fun(err: sessiond.RpcError?, result: any)): any, sessiond.RpcError?>
---@field trash table<string, fun(params?: table, callback?: fun(err: sessiond.RpcError?, result: any)): any, sessiond.RpcError?>

---@param noun string
---@return table<string, fun(params?: table, callback?: function): any, sessiond.RpcError?>
local function methods_of(noun)
  return setmetatable({}, {
    __index = function(known, verb)
      local method = noun .. '/' .. verb
      known[verb] = function(params, callback)
        local client = require('sessiond.client')
        if callback then
          client.request(method, params, callback)
        else
          return client.call(method, params)
        end
      end
      return known[verb]
    end,
  })
end

return setmetatable({}, {
  __index = function(known, noun)
    known[noun] = methods_of(noun)
    return known[noun]
  end,
}) --[[@as sessiond.Api]]
