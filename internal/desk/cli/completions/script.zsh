# Completion of PROGRAM in zsh. Load it in ~/.zshrc: source <(PROGRAM completions zsh)
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
_FUNCTION() {
  local output="$(PROGRAM __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)"
  if [[ $output == :files ]]; then
    [[ $PREFIX == --*=* ]] && compset -P 1 '*='
    _files
  elif [[ -n $output ]]; then
    local -a lines=("${(@f)output}")
    lines=("${(@)lines/$'\t'/:}")
    _describe PROGRAM lines
  fi
}
compdef _FUNCTION PROGRAM
