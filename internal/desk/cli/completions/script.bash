# Completion of function-export in bash. Load it in ~/.bashrc: source <(function-export completions bash)
_function_export() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :files ]] && return  # without replies, bash completes a file
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(function-export __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  ((${#COMPREPLY[@]})) || compopt +o default 2>/dev/null
}
complete -o default -F _function_export function-export
