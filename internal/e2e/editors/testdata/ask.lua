-- Opens a file that has a mistake, as a person does, and prints what the language server says about it.
-- Neovim 0.7 has the parts of vim.lsp.start, but not the function.
vim.lsp.start = vim.lsp.start or function(config)
  vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
end

local function ask(method, text, column)
  local line = vim.fn.search(text, "w") - 1
  local found = vim.fn.match(vim.fn.getline(line + 1), text) + column
  local params = {
    textDocument = { uri = vim.uri_from_bufnr(0) },
    position = { line = line, character = found },
  }
  local answers = vim.lsp.buf_request_sync(0, method, params, 60000) or {}
  local _, answer = next(answers)
  return answer and answer.result
end

vim.api.nvim_create_autocmd("VimEnter", {
  callback = function()
    vim.cmd("edit " .. os.getenv("OPEN"))
    vim.cmd("setfiletype yaml")
    vim.wait(60000, function() return #vim.diagnostic.get(0) > 0 end)
    io.stdout:write(vim.fn.json_encode({
      diagnostics = vim.diagnostic.get(0),
      completion = ask("textDocument/completion", "resourcee", 5),
      hover = ask("textDocument/hover", "secret.username", 1),
    }))
    vim.cmd("qall!")
  end,
})
