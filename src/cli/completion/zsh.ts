import { caseFunctions } from './cases.ts'
import type { Place } from './tree.ts'

/** Works when it is sourced, and as a file `_svc` in a directory of $fpath. */
export function zshCompletion(places: readonly Place[]): string[] {
  return [
    '#compdef svc',
    '# zsh completion for svc. Save it as _svc in a directory of $fpath, or in ~/.zshrc: source <(svc completion zsh)',
    ...caseFunctions(places),
    `_svc() {
  local at='' names='' flags='' values='' ask='' word prev=\${words[CURRENT-1]} i
  for ((i = 2; i < CURRENT; i++)); do
    word=\${words[i]}
    if [[ $word == -- ]]; then
      shift $i words
      ((CURRENT -= i))
      _normal
      return
    fi
    if _svc_value "$at" "$word"; then
      ((i += 1))
    elif _svc_place "\${at:+$at }$word"; then
      at="\${at:+$at }$word"
    fi
  done
  if [[ \${words[CURRENT]} == --*=* ]]; then
    prev=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  if _svc_value "$at" "$prev"; then
    names=$values
  else
    _svc_place "$at"
    if [[ \${words[CURRENT]} == -* ]]; then names=$flags ask=''; fi
  fi
  if [[ -n $ask ]]; then names+=" $(\${=ask} 2>/dev/null)"; fi
  if [[ -n \${names// /} ]]; then
    compadd -- \${=names}
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _svc ]]; then
  _svc "$@"
else
  compdef _svc svc
fi`,
  ]
}
