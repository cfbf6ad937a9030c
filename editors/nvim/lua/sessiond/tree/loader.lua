---Reads the rows of a tree: first those around the leaf, which are shown at once, then all pages from the start.
---Later it reads the subtrees that changed, or all rows again if the changes cannot be located.
local M = {}

local client = require('sessiond.client')
local draw = require('sessiond.tree.draw')
local rows = require('sessiond.tree.rows')

---Rows of the first page, around the leaf.
local FIRST_ROWS = 500
---Milliseconds in which changes are gathered before they are read.
local GATHERING = 20

---@class sessiond.Loader
---@field shows_rows boolean whether rows of the current filter and query are shown
---@field loading integer? number of the load in progress
---@field private tree sessiond.Tree
---@field private loads integer
---@field private is_stale boolean whether all rows have to be read again
---@field private stale table<string, true> rows whose subtree has to be read again
---@field private read_early table<string, true> rows whose subtree was read while all rows were read
---@field private anchor string? the entry around which other rows are read first
---@field private fresh sessiond.Rows? the rows of the load in progress
---@field private is_scheduled boolean
---@field private is_closed boolean
local Loader = {}
Loader.__index = Loader

---@param tree sessiond.Tree
---@return sessiond.Loader
function M.new(tree)
  return setmetatable({
    tree = tree,
    shows_rows = false,
    loads = 0,
    is_stale = false,
    stale = {},
    read_early = {},
    is_scheduled = false,
    is_closed = false,
  }, Loader)
end

---Ignore further responses.
function Loader:close()
  self.is_closed = true
end

---Read all rows again, at the latest after a reconnection. The shown rows stay until all are read.
function Loader:refresh()
  self.is_stale = true
  self:schedule()
end

---Read other rows, first those around the cursor, or around the leaf if the cursor follows it.
function Loader:restart()
  self.anchor = self.tree.canvas:anchor()
  self.shows_rows, self.loading = false, nil
  self:refresh()
end

---Read the subtree of a row again.
---@param id string
function Loader:refresh_below(id)
  self.stale[id] = true
  self:schedule()
end

---Return whether rows are shown and need not all be read again.
---@return boolean
function Loader:is_current()
  return self.shows_rows and not self.is_stale
end

---Note another label of an entry.
---@param id string
---@param label string?
function Loader:labeled(id, label)
  local row = self.fresh and self.fresh:get(id)
  if row then
    row.label, row.drawn = label, nil
  end
end

---@private
function Loader:schedule()
  if self.is_scheduled then
    return
  end
  self.is_scheduled = true
  vim.defer_fn(function()
    self.is_scheduled = false
    self:catch_up()
  end, GATHERING)
end

---@private
function Loader:catch_up()
  if self.is_closed then
    return
  elseif require('sessiond.connect').state().status ~= 'online' then
    self.is_stale = true -- the shown rows are read again after the reconnection
    return
  end
  if self.is_stale and not self.loading then
    self:load()
    return
  end
  local stale = self.stale
  self.stale = {}
  for id in pairs(stale) do
    self:load_below(id)
  end
end

---@private
function Loader:load()
  self.loads = self.loads + 1
  self.loading = self.loads
  self.is_stale, self.stale, self.read_early, self.fresh = false, {}, {}, nil
  local around = not self.shows_rows and (self.tree.canvas:target_id() or self.anchor or self.tree.leaf_id)
  self.anchor = nil
  if around then
    self:load_around(around, self.loading)
  else
    self:load_all(self.loading)
  end
end

---Request a page of the load in progress.
---@private
---@param number integer of the load
---@param params table
---@param callback fun(page: sessiond.TreeResult)
---@param failed? fun() instead of showing the error
function Loader:request_page(number, params, callback, failed)
  client.request('session/tree', self.tree:params(params), function(err, page)
    if self.is_closed or self.loading ~= number then
      return
    end
    if not err then
      self.tree.total, self.tree.leaf_id = page.entryCount, page.leafId
      callback(page)
      return
    end
    local kind = err.data and err.data.kind
    if failed and kind == 'entryNotFound' then
      failed()
      return
    end
    self.loading, self.fresh = nil, nil
    if kind == 'cursorExpired' then
      self:refresh()
    else
      self.is_stale = self.is_stale or kind == 'disconnected'
      self.tree:failed(err)
    end
  end)
end

---Show the rows around an entry, and then read all. Without the rows of other branches, the first page of a large
---session has more of the path.
---@private
---@param entry string
---@param number integer of the load
function Loader:load_around(entry, number)
  local params = { aroundId = entry, limit = FIRST_ROWS, openAll = self.tree.total <= FIRST_ROWS }
  self:request_page(number, params, function(page)
    local found = rows.of_page(page)
    if page.precedingCount == 0 and not page.nextCursor and not found:has_folded_branch() then
      self:finish(found)
      return
    end
    self.tree:show(found)
    self.shows_rows = true
    self:load_all(number)
  end, function()
    self:load_all(number)
  end)
end

---@private
---@param number integer of the load
function Loader:load_all(number)
  local fresh = rows.new()
  self.fresh = fresh
  local function read_page(cursor)
    local limit = require('sessiond.config').get().tree.page
    self:request_page(number, { cursor = cursor, limit = limit }, function(page)
      local first = #fresh.list + 1
      fresh:add(page.nodes)
      draw.lines(fresh.list, first, #fresh.list) -- their lines are stored, so that the last page costs no more
      if page.nextCursor then
        self.tree:set_note(('loading, %d of %d rows'):format(#fresh.list, page.visibleCount))
        read_page(page.nextCursor)
      else
        self:finish(fresh)
      end
    end)
  end
  read_page(nil)
end

---@private
---@param all sessiond.Rows
function Loader:finish(all)
  self.loading, self.fresh, self.shows_rows = nil, nil, true
  self.tree:show(all)
  self.tree.canvas:forget_target()
  self.tree:set_note(nil)
  -- Rows that were read early may be missing in the pages that were read before.
  self.stale = vim.tbl_extend('force', self.stale, self.read_early)
  if self.is_stale or next(self.stale) then
    self:schedule()
  end
end

---Read the subtree of a row, and show it.
---@private
---@param id string
function Loader:load_below(id)
  local number = self.loading
  if number then
    self.read_early[id] = true
  end
  client.request('session/tree', self.tree:params({ rootId = id }), function(err, page)
    if self.is_closed or self.loading ~= number then
      return
    end
    local canvas = self.tree.canvas
    local row, place = canvas.rows:get(id)
    if err or not row or not place then
      self:refresh()
    elseif page.nextCursor then
      self:restart()
    elseif page.nodes[1] and page.nodes[1].id == id then
      self.tree.total = page.entryCount
      canvas:replace(place, page.nodes, self.tree.leaf_id)
      self.tree:show_title()
    elseif row.parentId then -- the row is hidden now: a turn without text is shown only while it is the leaf
      self:refresh_below(row.parentId)
    else
      self:refresh()
    end
  end)
end

return M
