-- The lualine component `sessiond`: the session and how the daemon is.
local component = require('lualine.component'):extend()

function component:update_status()
  -- lualine hands the text to 'statusline', where a percent sign is an order.
  return (require('sessiond').status():gsub('%%', '%%%%'))
end

return component
