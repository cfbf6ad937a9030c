---Choices in telescope.nvim.
local M = {}

---@param question sessiond.Question
---@param chosen fun(value: any)
---@param options? table of telescope, as a theme
function M.pick(question, chosen, options)
  local actions, state = require('telescope.actions'), require('telescope.actions.state')
  local config = require('telescope.config').values
  options = options or {}
  require('telescope.pickers')
    .new(options, {
      prompt_title = question.prompt,
      finder = require('telescope.finders').new_table({
        results = question.choices,
        entry_maker = function(choice)
          return { value = choice, display = choice.text, ordinal = choice.text }
        end,
      }),
      sorter = config.generic_sorter(options),
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
        return true
      end,
    })
    :find()
end

return M
