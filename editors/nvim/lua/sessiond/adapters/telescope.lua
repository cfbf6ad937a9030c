---Choices in telescope.nvim.
---@type sessiond.PickerAdapter
local M = { is_live = true }

---@return fun(choice: sessiond.Choice): table maker of telescope's entries, the same one for each value
local function entry_maker()
  local entries = {}
  return function(choice)
    -- telescope keeps the selection on an entry only if it is the same table after a refresh.
    local entry = entries[choice.value] or {}
    entries[choice.value] = entry
    entry.value, entry.display, entry.ordinal = choice, choice.text, choice.text
    return entry
  end
end

---Let the user choose.
---@param question sessiond.Question
---@param chosen fun(value: any)
---@param options? table options of telescope, such as a theme
function M.pick(question, chosen, options)
  local actions, state = require('telescope.actions'), require('telescope.actions.state')
  local config = require('telescope.config').values
  local make_entry = entry_maker()
  local function finder(choices)
    return require('telescope.finders').new_table({ results = choices, entry_maker = make_entry })
  end
  local picker = require('telescope.pickers').new(options or {}, {
    prompt_title = question.prompt,
    finder = finder(question.choices),
    selection_strategy = 'follow',
    sorter = config.generic_sorter(options or {}),
    previewer = require('telescope.previewers').new_buffer_previewer({
      title = 'sessiond',
      define_preview = function(self, entry)
        require('sessiond.sessions').preview(entry.value, self.state.bufnr)
      end,
    }),
    attach_mappings = function(prompt)
      actions.select_default:replace(function()
        local entry = state.get_selected_entry()
        actions.close(prompt)
        if entry then
          chosen(entry.value.value)
        end
      end)
      if question.close then
        vim.api.nvim_create_autocmd('BufUnload', { buffer = prompt, once = true, callback = question.close })
      end
      return true
    end,
  })
  picker:find()
  if question.observe then
    question.observe(function(choices)
      picker:refresh(finder(choices), { reset_prompt = false })
    end)
  end
end

return M
