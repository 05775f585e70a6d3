import { caseFunctions } from './cases.ts'
import type { Place } from './tree.ts'

/** Where nothing is offered, bash completes file names by itself. It splits `--flag=value` into three words. */
export function bashCompletion(places: readonly Place[]): string[] {
  return [
    '# bash completion for svc. For every shell from now on, add to ~/.bashrc: source <(svc completion bash)',
    ...caseFunctions(places),
    `_svc() {
  local at='' names='' flags='' values='' ask='' word i
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word == -- ]]; then
      if ((i == COMP_CWORD - 1)); then COMPREPLY=($(compgen -c -- "$cur")); fi
      return
    fi
    if _svc_value "$at" "$word"; then
      if [[ \${COMP_WORDS[i+1]} == '=' ]]; then ((i += 2)); else ((i += 1)); fi
    elif _svc_place "\${at:+$at }$word"; then
      at="\${at:+$at }$word"
    fi
  done
  if _svc_value "$at" "$prev"; then
    names=$values
  else
    _svc_place "$at"
    if [[ $cur == -* ]]; then names=$flags ask=''; fi
  fi
  if [[ -n $ask ]]; then names+=" $($ask 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
}
complete -o default -F _svc svc`,
  ]
}
