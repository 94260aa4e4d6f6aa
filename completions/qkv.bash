# bash completion for qkv. qkv itself says what may come next; a line with a colon stands for files.
_qkv() {
  local line current=${COMP_WORDS[COMP_CWORD]} program=${COMP_WORDS[0]/#\~/$HOME}
  if [[ $current == = ]]; then current=; fi # bash cuts --step=scores in three words
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :lessons) _qkv_files -f -X '!*.toml' && _qkv_files -d ;;
      :files) _qkv_files -f ;;
      :directories) _qkv_files -d ;;
      *\[) compopt -o nospace 2>/dev/null; COMPREPLY+=("$line") ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;; # without its help
    esac
  done < <("$program" --complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}

_qkv_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen "$@" -- "$current")
}

complete -F _qkv qkv
