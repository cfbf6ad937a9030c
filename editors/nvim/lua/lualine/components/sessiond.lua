-- The lualine component `sessiond`: the session and the state of the connection.
local component = require('lualine.component'):extend()

---Return the text of the component.
---@return string
function component:update_status()
  -- lualine uses the text in 'statusline', where a percent sign begins an item.
  return (require('sessiond').status():gsub('%%', '%%%%'))
end

return component
