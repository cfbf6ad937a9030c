---Choices in fzf-lua. A line is `<number>\t<text>`. The number, which is not shown, identifies the choice.
local M = {}

---Let the user choose.
---@param question sessiond.Question
---@param chosen fun(value: any)
function M.pick(question, chosen)
  local lines = {}
  for index, choice in ipairs(question.choices) do
    lines[index] = ('%d\t%s'):format(index, choice.text)
  end
  require('fzf-lua').fzf_exec(lines, {
    prompt = question.prompt .. '> ',
    fzf_opts = { ['--delimiter'] = '\t', ['--with-nth'] = '2..' },
    actions = {
      ['default'] = function(selected)
        local choice = question.choices[tonumber((selected[1] or ''):match('^(%d+)\t'))]
        if choice then
          chosen(choice.value)
        end
      end,
    },
  })
end

return M
