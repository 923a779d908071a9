# Completion of function-export in fish. Load it in ~/.config/fish/config.fish: function-export completions fish | source
function __function_export_complete
    set -l typed (commandline --current-token)
    set -l words (commandline --current-process --tokenize --cut-at-cursor) $typed
    set -l lines (function-export __complete -- $words[2..] 2>/dev/null)
    if test "$lines" = :files
        set -l flag (string match --regex '^--[^=]*=' -- $typed; or echo)
        for path in (__fish_complete_path (string replace --regex '^--[^=]*=' '' -- $typed))
            echo $flag$path
        end
    else
        printf '%s\n' $lines
    end
end
complete --command function-export --no-files --arguments '(__function_export_complete)'
