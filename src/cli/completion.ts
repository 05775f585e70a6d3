/** The completion scripts of four shells. Each holds the whole tree, and calls svc only for names that this computer has. */
import { Option } from 'commander'
import type { CommandNode, OptionNode } from './run/command-tree.ts'
import { topics } from './run/help.ts'
import { commonOptions } from './run/parser.ts'
import { outputFormats } from './settings/table.ts'

/** Returns the script of each shell, as lines. */
export const completionScripts = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
  powershell: powershellCompletion,
} as const satisfies Record<string, (places: readonly Place[]) => string[]>

/** Where the script suggests nothing, bash completes file names. bash splits `--flag=value` into three words. */
function bashCompletion(places: readonly Place[]): string[] {
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

/** Works sourced, and as a file `_svc` in a directory of $fpath. */
function zshCompletion(places: readonly Place[]): string[] {
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

/**
 * Returns the places as `case` statements, which bash and zsh read alike. `_svc_value PATH FLAG` sets `values` and the
 * command to `ask`; it fails when the flag takes no value. `_svc_place PATH` sets `names`, `flags` and `ask`; it fails when
 * there is no such place.
 */
function caseFunctions(places: readonly Place[]): string[] {
  return [
    '_svc_value() {',
    "  values='' ask=''",
    '  case "$1|$2" in',
    ...places.flatMap((place) => place.flags.filter(({ takes }) => takes !== 'nothing').map(valueCase(place))),
    '    *) return 1 ;;',
    '  esac',
    '}',
    '_svc_place() {',
    "  ask=''",
    '  case "$1" in',
    ...places.map(({ path, words, names: source, flags }) => {
      const names = words.map(({ name }) => name)
      return `    '${path}') names='${names.join(' ')}' flags='${flags.map(({ long }) => long).join(' ')}'${asking(source)} ;;`
    }),
    '    *) return 1 ;;',
    '  esac',
    '}',
  ]
}

function valueCase({ path }: Place) {
  return ({ short, long, values, names }: Flag) => {
    const patterns = [short, long].filter((name) => name !== null).map((name) => `'${path}|${name}'`)
    return `    ${patterns.join(' | ')}) values='${values.join(' ')}'${asking(names)} ;;`
  }
}

function asking(source: NameSource | null): string {
  return source === null ? '' : ` ask='${askFor(source)}'`
}

function fishCompletion(places: readonly Place[]): string[] {
  return [
    '# fish completion for svc. Save it: svc completion fish > ~/.config/fish/completions/svc.fish',
    `set -g __svc_paths ${places
      .filter(({ path }) => path !== '')
      .map(({ path }) => quotedForFish(path))
      .join(' ')}`,
    `set -g __svc_valued ${valuedFlags(places).join(' ')}`,
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
    test "$at" = "$argv[1]"
end
function __svc_program
    set -l words (commandline -opc)
    set -l start (contains -i -- -- $words); or return
    set -l program (string escape -- $words[(math $start + 1)..-1])
    complete -C (string join ' ' -- $program (commandline -ct))
end
complete -c svc -n 'contains -- -- (commandline -opc)' -x -a '(__svc_program)'`,
    ...places.flatMap(({ path, words, names, flags }) => {
      const at = `complete -c svc -n ${quotedForFish(`__svc_at ${quotedForFish(path)}`)}`
      return [
        ...words.map(({ name, summary }) => `${at} -f -a ${quotedForFish(name)} -d ${quotedForFish(summary)}`),
        ...(names === null ? [] : [`${at} -f -a ${quotedForFish(`(${askFor(names)} 2>/dev/null)`)}`]),
        ...flags.map((flag) => `${at} ${flagWords(flag)} -d ${quotedForFish(flag.summary)}`),
      ]
    }),
  ]
}

/** Returns the flags that take a value, wherever they stand. */
function valuedFlags(places: readonly Place[]): string[] {
  const flags = places.flatMap((place) => place.flags)
  const namesOf = (found: readonly Flag[]) =>
    found.flatMap(({ short, long }) => (short === null ? [long] : [short, long]))
  const [without, valued] = [true, false].map((isWithout) =>
    namesOf(flags.filter(({ takes }) => (takes === 'nothing') === isWithout)),
  ) as [string[], string[]]
  return [...new Set(valued)].filter((name) => !without.includes(name))
}

function flagWords({ short, long, takes, values, names: source }: Flag): string {
  const names = `${short === null ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
  if (takes === 'nothing') return names
  if (takes === 'file') return `${names} -r -F`
  if (source !== null) return `${names} -x -a ${quotedForFish(`(${askFor(source)} 2>/dev/null)`)}`
  return values.length === 0 ? `${names} -x` : `${names} -x -a ${quotedForFish(values.join(' '))}`
}

function quotedForFish(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

function powershellCompletion(places: readonly Place[]): string[] {
  return [
    '# PowerShell completion for svc. Add to $PROFILE: svc completion powershell | Out-String | Invoke-Expression',
    'Register-ArgumentCompleter -Native -CommandName svc -ScriptBlock {',
    '    param($wordToComplete, $commandAst, $cursorPosition)',
    '    $names = @{',
    ...places.map(
      ({ path, words }) => `        ${quotedForPowershell(path)} = ${listForPowershell(words.map(({ name }) => name))}`,
    ),
    '    }',
    '    $flags = @{',
    ...places.map(
      ({ path, flags }) => `        ${quotedForPowershell(path)} = ${listForPowershell(flags.map(({ long }) => long))}`,
    ),
    '    }',
    '    $values = @{',
    ...places.flatMap(({ path, flags }) =>
      flags
        .filter(({ takes }) => takes !== 'nothing')
        .flatMap(({ short, long, values }) =>
          [short, long]
            .filter((name) => name !== null)
            .map((name) => `        ${quotedForPowershell(`${path}|${name}`)} = ${listForPowershell(values)}`),
        ),
    ),
    '    }',
    '    $asks = @{',
    ...places.flatMap(({ path, names, flags }) => [
      ...(names === null ? [] : [`        ${quotedForPowershell(path)} = ${quotedForPowershell(names)}`]),
      ...flags.flatMap((flag) =>
        flag.names === null
          ? []
          : [`        ${quotedForPowershell(`${path}|${flag.long}`)} = ${quotedForPowershell(flag.names)}`],
      ),
    ]),
    '    }',
    `    $at = ''
    $previous = ''
    $before = @($commandAst.CommandElements | Select-Object -Skip 1 | Where-Object { $_.Extent.EndOffset -lt $cursorPosition })
    foreach ($element in $before) {
        $word = $element.ToString()
        if ($word -eq '--') { return }
        $next = "$at $word".Trim()
        if (-not $values.ContainsKey("$at|$previous") -and $names.ContainsKey($next)) { $at = $next }
        $previous = $word
    }
    $offered = if ($values.ContainsKey("$at|$previous")) { $values["$at|$previous"] }
        elseif ($wordToComplete.StartsWith('-')) { $flags[$at] }
        else { $names[$at] }
    $asked = if ($values.ContainsKey("$at|$previous")) { $asks["$at|$previous"] }
        elseif ($wordToComplete.StartsWith('-')) { $null }
        else { $asks[$at] }
    if ($asked) { $offered = @($offered) + @(svc completion --names $asked 2>$null) }
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

/** Returns the command line that prints the names of a source, one a line. */
function askFor(source: NameSource): string {
  return `svc completion --names ${source}`
}

/** A place in the command line: after the words of `path`. */
export interface Place {
  /** `placements create`; empty at the start. */
  path: string
  /** What may follow: commands, or the values of an argument. */
  words: readonly Word[]
  /** Names of this computer that may follow too; null when there are none. */
  names: NameSource | null
  flags: readonly Flag[]
}

export interface Word {
  name: string
  summary: string
}

interface Flag {
  /** `-o`, or null. */
  short: string | null
  /** `--output` */
  long: string
  summary: string
  takes: 'nothing' | 'value' | 'file'
  /** Empty when it takes any value. */
  values: readonly string[]
  /** Names of this computer that it takes; null when there are none. */
  names: NameSource | null
}

/** Names that change, or are too many for a script: when Tab is pressed, the scripts call `svc completion --names SOURCE`. */
export const nameSources = ['profiles', 'scenarios', 'snapshots', 'topics'] as const
export type NameSource = (typeof nameSources)[number]

/** What the first argument of a command names. */
const argumentNames: Readonly<Record<string, NameSource>> = {
  docs: 'topics',
  'config use': 'profiles',
  'config delete': 'profiles',
  'sandbox scenario use': 'scenarios',
  'sandbox snapshot restore': 'snapshots',
  'sandbox snapshot delete': 'snapshots',
}

/** What the value of a flag names, in every command. */
const flagNames: Readonly<Record<string, NameSource>> = { '--profile': 'profiles', '--scenario': 'scenarios' }

/** Returns every place of the command line, the start first. */
export function placesOf(tree: readonly CommandNode[]): Place[] {
  const commands = tree.map(({ name, summary }) => ({ name, summary }))
  const help = { name: 'help', summary: 'Help of a command, or of a topic' }
  const helpTopics = ['commands', ...Object.keys(topics)]
  const helpWords = [...commands, ...helpTopics.map((name) => ({ name, summary: `Help: ${name}` }))]
  return [
    {
      path: '',
      words: [...commands, help],
      names: null,
      flags: [...commonFlags(), flagWithoutValue('-V', '--version', 'The version')],
    },
    { path: 'help', words: helpWords, names: null, flags: [] },
    ...tree.flatMap((node) => placesWithin(node, node.name)),
  ]
}

function placesWithin(node: CommandNode, path: string): Place[] {
  if (node.commands === undefined) return [commandPlace(node, path)]
  const words = node.commands.map(({ name, summary }) => ({ name, summary }))
  return [
    { path, words, names: null, flags: commonFlags() },
    ...node.commands.flatMap((inner) => placesWithin(inner, `${path} ${inner.name}`)),
  ]
}

function commandPlace({ arguments: args = [], options = [], formats }: CommandNode, path: string): Place {
  const words = args.flatMap(({ choices, description }) => choices.map((name) => ({ name, summary: description })))
  const own = options.map(flagOf)
  const taken = new Set(own.map(({ long }) => long))
  const shared = commonFlags(formats).filter(({ long }) => !taken.has(long))
  const names = words.length === 0 ? (argumentNames[path] ?? null) : null
  return { path, words, names, flags: [...own, ...shared] }
}

function commonFlags(formats: readonly string[] = []): Flag[] {
  const flags = commonOptions().map(({ flags, description, argChoices = [] }) => {
    const flag = flagOf({ flags, description, choices: argChoices, suggestions: [] })
    return flag.long === '--output' ? { ...flag, values: [...formats, ...outputFormats] } : flag
  })
  return [...flags, flagWithoutValue('-h', '--help', 'Help of this command')]
}

function flagWithoutValue(short: string, long: string, summary: string): Flag {
  return { short, long, summary, takes: 'nothing', values: [], names: null }
}

function flagOf({ flags, description, choices, suggestions }: Omit<OptionNode, 'defaultValue' | 'presetArg'>): Flag {
  const { short = null, long = '', required } = new Option(flags)
  const values = choices.length > 0 ? choices : suggestions
  return {
    short,
    long,
    summary: description,
    takes: !required ? 'nothing' : flags.endsWith('<file>') ? 'file' : 'value',
    values,
    names: values.length === 0 ? (flagNames[long] ?? null) : null,
  }
}
