/**
 * The completion scripts of four shells. Each contains the whole tree, and calls svc only for names on this computer. A
 * shell reads its script at every start, so anything common to all commands is written only once.
 */
import { type CompletionSlot, commonFlags, type Flag, type NameSource } from './slots.ts'

/** Returns the script of each shell, as lines. */
export const completionScripts = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
} as const satisfies Record<string, (places: readonly CompletionSlot[]) => string[]>

/**
 * bash completes file names where the script suggests nothing, unless `compopt` forbids it (bash 3 has none). It splits
 * `--flag=value` into three words.
 */
function bashCompletion(places: readonly CompletionSlot[]): string[] {
  return [
    '# bash completion for svc and svc-sandbox. For every shell from now on, add to ~/.bashrc: source <(svc config completion bash)',
    ...caseFunctions(places),
    `_svc() {
  local at='' names='' flags='' values='' ask='' files='' word i
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
    if [[ $cur == -* || -z $names$ask$files ]]; then names=$flags ask='' files=''; fi
  fi
  if [[ -z $files ]]; then compopt +o default 2>/dev/null; fi
  if [[ -n $ask ]]; then names+=" $($ask 2>/dev/null)"; fi
  COMPREPLY=($(compgen -W "$names" -- "$cur"))
}
complete -o default -F _svc svc svc-sandbox`,
  ]
}

/** Works when sourced, with or without a prior `compinit`, and as a file `_svc` in a directory of $fpath. */
function zshCompletion(places: readonly CompletionSlot[]): string[] {
  return [
    '#compdef svc svc-sandbox',
    '# zsh completion for svc and svc-sandbox. Save it as _svc in a directory of $fpath, or end ~/.zshrc with: source <(svc config completion zsh)',
    ...caseFunctions(places),
    `_svc() {
  local at='' names='' flags='' values='' ask='' files='' word prev=\${words[CURRENT-1]} i
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
    if [[ \${words[CURRENT]} == -* || -z $names$ask$files ]]; then names=$flags ask='' files=''; fi
  fi
  if [[ -n $ask ]]; then names+=" $(\${=ask} 2>/dev/null)"; fi
  if [[ -n $files ]]; then _files; fi
  if [[ -n \${names// /} ]]; then compadd -- \${=names}; fi
}
if [[ \${funcstack[1]} == _svc ]]; then
  _svc "$@"
else
  if (( ! $+functions[compdef] )); then
    autoload -Uz compinit
    compinit -i
  fi
  compdef _svc svc svc-sandbox
fi`,
  ]
}

/**
 * Returns the places as `case` statements, which bash and zsh both read. `_svc_value PATH FLAG` sets `values`, the
 * command to `ask`, and `files` where a file name can follow; it fails when the flag takes no value. `_svc_place PATH`
 * sets `names`, `flags`, `ask` and `files`; it fails when there is no such place.
 */
function caseFunctions(places: readonly CompletionSlot[]): string[] {
  return [
    '_svc_value() {',
    "  values='' ask='' files=''",
    '  case "$1|$2" in',
    ...valueCases(places),
    '    *) return 1 ;;',
    '  esac',
    '}',
    '_svc_place() {',
    "  names='' flags='' ask='' files=''",
    '  case "$1" in',
    ...places.map((place) => {
      const names = setting(
        'names',
        place.words.map(({ name }) => name),
      )
      return `    '${place.path}')${names}${setting('flags', ownNames(place))}${asking(place.names)}${filing(place.takesFile)} ;;`
    }),
    '    *) return 1 ;;',
    '  esac',
    `  flags+=' ${commonNames.join(' ')}'`,
    '}',
  ]
}

/** Returns a case for each list of values. The first match wins, so the cases for all places come last. */
function valueCases(places: readonly CompletionSlot[]): string[] {
  const rules = valueRules(places)
  const pattern = ({ path, name }: ValueRule) => (path === '*' ? `*'|${name}'` : `'${path}|${name}'`)
  const settings = ({ flag }: ValueRule) =>
    `${setting('values', flag.values)}${asking(flag.names)}${filing(flag.takes === 'file')}`
  return [rules.filter(({ path }) => path !== '*'), rules.filter(({ path }) => path === '*')].flatMap((part) =>
    [...Map.groupBy(part, settings)].map(([set, same]) => `    ${same.map(pattern).join(' | ')})${set} ;;`),
  )
}

/** Returns the assignment of a variable that was empty; nothing for an empty list. */
function setting(variable: string, words: readonly string[]): string {
  return words.length === 0 ? '' : ` ${variable}='${words.join(' ')}'`
}

function asking(source: NameSource | null): string {
  return source === null ? '' : ` ask='${askFor(source)}'`
}

function filing(takesFile: boolean): string {
  return takesFile ? ' files=1' : ''
}

function fishCompletion(places: readonly CompletionSlot[]): string[] {
  return [
    '# fish completion for svc and svc-sandbox. fish looks for a file of each name, so save it as both:',
    '# svc config completion fish | tee ~/.config/fish/completions/{svc,svc-sandbox}.fish > /dev/null',
    `set -g __svc_paths ${places
      .filter(({ path }) => path !== '')
      .map(({ path }) => quotedForFish(path))
      .join(' ')}`,
    `set -g __svc_valued ${[...valuedNames(places)].join(' ')}`,
    `function __svc_at
    set -l at ''
    set -l is_value 0
    for word in (commandline -opc)[2..-1]
        if test $is_value = 1
            set is_value 0
            continue
        end
        test "$word" = --; and return 1
        contains -- "$word" $__svc_valued; and set is_value 1
        set -l next (string trim -- "$at $word")
        contains -- "$next" $__svc_paths; and set at $next
    end
    test (count $argv) -eq 0; or contains -- "$at" $argv
end
function __svc_program
    set -l words (commandline -opc)
    set -l start (contains -i -- -- $words); or return
    set -l program (string escape -- $words[(math $start + 1)..-1])
    complete --do-complete=(string join ' ' -- $program (commandline -ct))
end
complete -c svc -n 'contains -- -- (commandline -opc)' -x -a '(__svc_program)'`,
    'complete -c svc -f',
    'complete -c svc-sandbox -w svc',
    ...commonFlags.map((flag) => `complete -c svc -n __svc_at ${flagWords(flag)}`),
    ...[...Map.groupBy(places.flatMap(fishWords), ({ words }) => words)].map(
      ([words, same]) => `complete -c svc -n "__svc_at ${same.map(({ path }) => `'${path}'`).join(' ')}" ${words}`,
    ),
  ]
}

/** Returns the arguments of `complete` for the words and flags of a place, without the flags that all places have. */
function fishWords({ path, words, names, takesFile, flags }: CompletionSlot): { path: string; words: string }[] {
  return [
    ...words.map(({ name, summary }) => `-f -a ${quotedForFish(name)} -d ${quotedForFish(summary)}`),
    ...(names === null ? [] : [`-f -a ${quotedForFish(`(${askFor(names)} 2>/dev/null)`)}`]),
    ...(takesFile ? ['-F'] : []),
    ...flags.filter((flag) => !commonFlags.includes(flag)).map(flagWords),
  ].map((words) => ({ path, words }))
}

function flagWords({ short, long, takes, values, names: source, summary }: Flag): string {
  const names = `${short === null ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
  const described = `${names} -d ${quotedForFish(summary)}`
  if (takes === 'nothing') return described
  if (takes === 'file')
    return `${described} -r -F${values.length === 0 ? '' : ` -a ${quotedForFish(values.join(' '))}`}`
  if (source !== null) return `${described} -x -a ${quotedForFish(`(${askFor(source)} 2>/dev/null)`)}`
  return values.length === 0 ? `${described} -x` : `${described} -x -a ${quotedForFish(values.join(' '))}`
}

function quotedForFish(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

function powershellCompletion(places: readonly CompletionSlot[]): string[] {
  const rules = valueRules(places)
  return [
    '# PowerShell completion for svc and svc-sandbox. Add to $PROFILE: svc config completion powershell | Out-String | Invoke-Expression',
    'Register-ArgumentCompleter -Native -CommandName svc, svc-sandbox -ScriptBlock {',
    '    param($wordToComplete, $commandAst, $cursorPosition)',
    '    $names = @{',
    ...places.map(
      ({ path, words }) => `        ${quotedForPowershell(path)} = ${listForPowershell(words.map(({ name }) => name))}`,
    ),
    '    }',
    '    $flags = @{',
    ...places.map((place) => `        ${quotedForPowershell(place.path)} = ${listForPowershell(ownNames(place))}`),
    '    }',
    `    $common = ${listForPowershell(commonNames)}`,
    '    $values = @{',
    ...rules.map(
      ({ path, name, flag }) => `        ${quotedForPowershell(`${path}|${name}`)} = ${listForPowershell(flag.values)}`,
    ),
    '    }',
    '    $asks = @{',
    ...[
      ...places.map(({ path, names }) => [path, names] as const),
      ...rules.map(({ path, name, flag }) => [`${path}|${name}`, flag.names] as const),
    ].flatMap(([key, names]) =>
      names === null ? [] : [`        ${quotedForPowershell(key)} = ${quotedForPowershell(names)}`],
    ),
    '    }',
    `    $at = ''
    $previous = ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition })
    foreach ($element in $before) {
        $word = $element.ToString()
        if ($word -eq '--') { return }
        $next = "$at $word".Trim()
        if (-not ($values.ContainsKey("$at|$previous") -or $values.ContainsKey("*|$previous")) -and $names.ContainsKey($next)) { $at = $next }
        $previous = $word
    }
    $flag = if ($values.ContainsKey("$at|$previous")) { "$at|$previous" } else { "*|$previous" }
    $offered = if ($values.ContainsKey($flag)) { $values[$flag] }
        elseif ($wordToComplete.StartsWith('-')) { @($flags[$at]) + $common }
        else { $names[$at] }
    $asked = if ($values.ContainsKey($flag)) { $asks[$flag] }
        elseif ($wordToComplete.StartsWith('-')) { $null }
        else { $asks[$at] }
    if ($asked) { $offered = @($offered) + @(svc config completion --names $asked 2>$null) }
    $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}`,
  ]
}

function listForPowershell(values: readonly string[]): string {
  return `@(${values.map(quotedForPowershell).join(', ')})`
}

function quotedForPowershell(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}

const commonNames = commonFlags.map(({ long }) => long)

/** Returns the flags of a place, except those that every place has. */
function ownNames({ flags }: CompletionSlot): string[] {
  return flags.map(({ long }) => long).filter((long) => !commonNames.includes(long))
}

/** Returns `-o` and `--output`, or only the long one. */
function spellings({ short, long }: Flag): string[] {
  return short === null ? [long] : [short, long]
}

/** The values of a flag at one place, or, with the path `*`, at every place without its own rule. */
interface ValueRule {
  path: string
  /** `-o` or `--output` */
  name: string
  flag: Flag
}

/**
 * Returns the values that each flag takes: one rule for all places where they agree; where they differ, rules for
 * single places come first.
 */
function valueRules(places: readonly CompletionSlot[]): ValueRule[] {
  const always = valuedNames(places)
  const uses = places.flatMap(({ path, flags }) =>
    flags
      .filter(({ takes }) => takes !== 'nothing')
      .flatMap((flag) => spellings(flag).map((name): ValueRule => ({ path, name, flag }))),
  )
  return [...Map.groupBy(uses, ({ name }) => name)].flatMap(([name, same]) => {
    const kinds = [...Map.groupBy(same, ({ flag: { values, names } }) => `${values}|${names}`).values()]
    const most = kinds.reduce((one, other) => (other.length > one.length ? other : one))
    if (!always.has(name) || (kinds.length > 1 && most.length === 1)) return same
    return [...kinds.filter((kind) => kind !== most).flat(), { path: '*', name, flag: most[0]!.flag }]
  })
}

/** Returns the flags that take a value, at any place. */
function valuedNames(places: readonly CompletionSlot[]): ReadonlySet<string> {
  const flags = places.flatMap((place) => place.flags)
  const without = new Set(flags.filter(({ takes }) => takes === 'nothing').flatMap(spellings))
  return new Set(flags.flatMap(spellings).filter((name) => !without.has(name)))
}

/** Returns the command line that prints the names of a source, one per line. */
function askFor(source: NameSource): string {
  return `svc config completion --names ${source}`
}
