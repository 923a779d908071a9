# Completion of function-export in zsh. Load it in ~/.zshrc: source <(function-export completions zsh)
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_function_export() {
  local output="$(function-export __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"
  if [[ $output == :files ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
  elif [[ -n $output ]]; then
    local -a lines=("${(@f)output}")
    lines=("${(@)lines/$'\t'/:}")
    _describe function-export lines
  fi
}
compdef _function_export function-export
