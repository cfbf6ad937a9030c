---The highlights of a tree. Only the lines that a window draws are highlighted, so that the cost does not depend on the
---number of rows.
local M = {}

local api = vim.api

M.namespace = api.nvim_create_namespace('sessiond.tree')

---The highlight groups of the plugin, and the groups to which they are linked unless a color scheme defines them.
M.GROUPS = {
  SessiondUser = 'Function',
  SessiondAssistant = 'String',
  SessiondTool = 'Type',
  SessiondOther = 'Comment',
  SessiondGutter = 'NonText',
  SessiondPath = 'Identifier',
  SessiondOffPath = 'Comment',
  SessiondLeaf = 'Special',
  SessiondLabel = 'Todo',
  SessiondTime = 'Comment',
  SessiondTitle = 'Title',
}

---Define the highlight groups that the color scheme does not define.
function M.define_groups()
  for group, standard in pairs(M.GROUPS) do
    api.nvim_set_hl(0, group, { link = standard, default = true })
  end
end

---@param buffer integer
---@param line integer from 0
---@param view sessiond.Tree
local function mark(buffer, line, view)
  local row = view.canvas.rows.list[line + 1]
  if not row then
    return
  end
  local draw = require('sessiond.tree.draw')
  local is_tip = row == view.canvas.rows.tip
  local text, spans = draw.line(row, is_tip)
  for _, span in ipairs(spans) do
    api.nvim_buf_set_extmark(buffer, M.namespace, line, span[1], {
      end_col = math.min(span[2], #text),
      hl_group = span[3],
      ephemeral = true,
      priority = 100,
      strict = false,
    })
  end
  local right = {}
  if is_tip then
    right[#right + 1] = { ' ' .. draw.signs().tip, 'SessiondLeaf' }
  end
  if view.shows_time then
    right[#right + 1] = { ' ' .. require('sessiond.text').ago(row.timestamp), 'SessiondTime' }
  end
  if #right > 0 then
    api.nvim_buf_set_extmark(
      buffer,
      M.namespace,
      line,
      0,
      { virt_text = right, virt_text_pos = 'right_align', ephemeral = true }
    )
  end
end

local is_enabled = false

---Highlight all trees from now on.
function M.enable()
  if is_enabled then
    return
  end
  is_enabled = true
  M.define_groups()
  api.nvim_create_autocmd('ColorScheme', { group = 'sessiond', callback = M.define_groups })
  local trees = require('sessiond.tree.view')
  api.nvim_set_decoration_provider(M.namespace, {
    on_win = function(_, _, buffer)
      return trees.of(buffer) ~= nil
    end,
    on_line = function(_, _, buffer, line)
      local view = trees.of(buffer)
      if view then
        mark(buffer, line, view)
      end
    end,
  })
end

return M
