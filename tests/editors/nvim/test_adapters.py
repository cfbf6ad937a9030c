"""The adapters to other plugins, against small stand-ins of the functions that they call in these plugins."""

import pytest

from support.commands import Shell
from support.neovim import Neovim, a_neovim
from support.stories import Story, Teller, parser_story

pytestmark = [pytest.mark.editors, pytest.mark.timeout(180)]

TELESCOPE = """
package.preload['telescope.config'] = function()
  return { values = { generic_sorter = function() return 'sorter' end } }
end
package.preload['telescope.finders'] = function()
  return { new_table = function(options) return options end }
end
package.preload['telescope.previewers'] = function()
  return { new_buffer_previewer = function(options) return options end }
end
package.preload['telescope.actions'] = function()
  return {
    close = function(prompt) vim.api.nvim_buf_delete(prompt, { force = true }) end,
    select_default = { replace = function(_, how) confirm = how end },
  }
end
package.preload['telescope.actions.state'] = function()
  return { get_selected_entry = function() return entries[1] end }
end
package.preload['telescope.pickers'] = function()
  return { new = function(_, options)
    local function show(finder)
      entries = vim.tbl_map(finder.entry_maker, finder.results)
      shown = vim.tbl_map(function(entry) return entry.display end, entries)
    end
    return { find = function()
      title = options.prompt_title
      show(options.finder)
      previewed = vim.api.nvim_create_buf(false, true)
      options.previewer.define_preview({ state = { bufnr = previewed } }, entries[1])
      assert(options.attach_mappings(vim.api.nvim_create_buf(false, true)))
    end, refresh = function(_, finder) show(finder) end }
  end }
end
package.preload['telescope'] = function()
  return { register_extension = function(extension) return extension end }
end
"""

SNACKS = """
package.preload['snacks.picker'] = function()
  return { pick = function(options)
    local picker = { list = { view = function(_, index) viewed = index end } }
    picker.current = function() return entries[1] end
    picker.items = function() return entries end
    picker.close = function() options.on_close() end
    picker.find = function(_, how)
      entries = options.finder()
      shown = vim.tbl_map(function(item) return options.format(item)[1][1] end, entries)
      if how then how.on_done() end
    end
    title = options.title
    picker:find()
    previewed = vim.api.nvim_create_buf(false, true)
    options.preview({ item = entries[1], buf = previewed })
    confirm = function() options.confirm(picker, entries[1]) end
    return picker
  end }
end
"""

FZF = """
package.preload['fzf-lua'] = function()
  return { fzf_exec = function(lines, options)
    entries, title = lines, options.prompt
    confirm = function() options.actions['default']({ lines[1] }) end
  end }
end
"""


@pytest.mark.parametrize(
    ("picker", "stand_in"), [("telescope", TELESCOPE), ("snacks", SNACKS), ("fzf-lua", FZF)]
)
def test_a_session_is_chosen_in_the_configured_picker(
    shell: Shell, story: Story, picker: str, stand_in: str
) -> None:
    with a_neovim(shell.locations, shell.folder, options={"picker": picker}) as nvim:
        nvim.lua(stand_in)
        nvim.command("Sessiond sessions")
        nvim.until("confirm and #entries == 1")
        assert "Sessions of this project" in nvim.lua("return title")
        if picker != "fzf-lua":
            nvim.until("#vim.api.nvim_buf_get_lines(previewed, 0, -1, false) == 6")
        nvim.lua("confirm()")
        nvim.see("The last line · ", "◀ leaf")


def count_watches(nvim: Neovim) -> None:
    """From now on `Watches` is the number of watches that the plugin has begun and not ended."""
    nvim.lua("""
      local client = require('sessiond.client')
      local request = client.request
      Watches = 0
      client.request = function(method, ...)
        Watches = Watches + (method == 'server/watch' and 1 or method == 'server/unwatch' and -1 or 0)
        return request(method, ...)
      end
    """)


@pytest.mark.parametrize(("picker", "stand_in"), [("telescope", TELESCOPE), ("snacks", SNACKS)])
def test_an_open_picker_shows_new_sessions_and_ends_its_watch_when_it_closes(
    shell: Shell, teller: Teller, story: Story, picker: str, stand_in: str
) -> None:
    with a_neovim(shell.locations, shell.folder, options={"picker": picker}) as nvim:
        count_watches(nvim)
        nvim.lua(stand_in)
        nvim.command("Sessiond sessions")
        nvim.until("confirm and #entries == 1")
        parser_story(teller, "borealis-1", "Something else")
        nvim.until("shown[1]:find('Something else') and shown[2]:find('The last line')")
        if picker == "snacks":
            assert nvim.lua("return viewed") == 2, "the selection stays on its session"
        assert nvim.lua("return Watches") == 1
        nvim.lua("confirm()")
        nvim.see("Something else · ", "◀ leaf")
        assert nvim.lua("return Watches") == 0


def test_vim_ui_select_needs_no_watch_while_it_is_open(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        count_watches(nvim)
        nvim.lua("vim.ui.select = function(items) chosen_from = #items end")
        nvim.command("Sessiond sessions")
        nvim.until("chosen_from == 1")
        assert nvim.lua("return Watches") == 0


def test_telescope_has_an_extension(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua(TELESCOPE)
        nvim.lua("require('telescope._extensions.sessiond').exports.search({ query = 'failing test' })")
        nvim.until("confirm and #entries == 1")
        nvim.lua("confirm()")
        nvim.until("vim.api.nvim_get_current_line():find('Write a failing test first') ~= nil")


def test_a_missing_picker_is_reported_and_vim_ui_select_is_used(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder, options={"picker": "telescope"}) as nvim:
        nvim.lua(
            "vim.ui.select = function(items) asked = #items end; vim.notify = function(text) told = text end"
        )
        nvim.command("Sessiond sessions")
        nvim.until("asked == 1")
        assert "is not installed" in nvim.lua("return told")


def test_lualine_shows_the_session_and_an_outage(shell: Shell, story: Story) -> None:
    with a_neovim(shell.locations, shell.folder) as nvim:
        nvim.lua("""
            package.preload['lualine.component'] = function()
              return { extend = function() return {} end }
            end
            component = require('lualine.components.sessiond')""")
        assert nvim.lua("return component:update_status()") == ""
        nvim.command(f"Sessiond tree {story.id}")
        nvim.see("◀ leaf")
        assert nvim.lua("return component:update_status()") == "The last line"
        nvim.command("Sessiond rename 100 % done")
        nvim.until("component:update_status() == '100 %% done'")
        shell("stop")
        nvim.until("component:update_status() == '100 %% done (away)'")
