---Choices in the picker of snacks.nvim.
local M = {}

---@param question sessiond.Question
---@param chosen fun(value: any)
function M.pick(question, chosen)
  local items = {}
  for index, choice in ipairs(question.choices) do
    items[index] = { idx = index, text = choice.text, choice = choice }
  end
  require('snacks.picker').pick({
    source = 'sessiond',
    title = question.prompt,
    items = items,
    format = function(item)
      return { { item.text } }
    end,
    preview = function(context)
      require('sessiond.sessions').preview(context.item.choice, context.buf)
    end,
    confirm = function(picker, item)
      picker:close()
      if item then
        chosen(item.choice.value)
      end
    end,
  })
end

return M
