# Completion of PROGRAM in bash. Load it in ~/.bashrc: source <(PROGRAM completions bash)
_FUNCTION() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    [[ $line == :files ]] && return  # without replies, bash completes a file
    COMPREPLY+=("${line%%$'\t'*}")
  done < <(PROGRAM __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  ((${#COMPREPLY[@]})) || compopt +o default 2>/dev/null
}
complete -o default -F _FUNCTION PROGRAM
