---Choices in the picker of snacks.nvim.
---@type sessiond.PickerAdapter
local M = { is_live = true }

---@param choices sessiond.Choice[]
---@return table[] items of snacks.nvim
local function items_of(choices)
  local items = {}
  for index, choice in ipairs(choices) do
    items[index] = { idx = index, text = choice.text, choice = choice }
  end
  return items
end

---Let the user choose.
---@param question sessiond.Question
---@param chosen fun(value: any)
function M.pick(question, chosen)
  local choices = question.choices
  local picker = require('snacks.picker').pick({
    source = 'sessiond',
    title = question.prompt,
    finder = function()
      return items_of(choices)
    end,
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
    on_close = function()
      if question.close then
        question.close()
      end
    end,
  })
  if question.observe then
    question.observe(function(changed)
      local current = picker:current()
      choices = changed
      picker:find({
        refresh = true,
        on_done = function()
          for index, item in ipairs(picker:items()) do
            if current and item.choice.value == current.choice.value then
              picker.list:view(index)
            end
          end
        end,
      })
    end)
  end
end

return M
