/** The places of the command line that completion knows: after each command, what may follow. */
import { Option } from 'commander'
import { commonOptions } from '#cli/run/common-options.ts'
import { topics } from '#cli/run/help-topics.ts'
import { findEntry } from '#foundation/table-entry.ts'
import { type CommandNode, type OptionNode, shownCommands } from '../run/help.ts'
import { outputFormats } from '../settings/table.ts'

/** A place in the command line: after the words of `path`. */
export interface CompletionSlot {
  /** `placements create`; empty at the start. */
  path: string
  /** The possible next words: commands, or the values of an argument. */
  words: readonly Word[]
  /** Names on this computer that may also follow; null when there are none. */
  names: NameSource | null
  /** Whether an argument is a file. */
  takesFile: boolean
  flags: readonly Flag[]
}

interface Word {
  name: string
  summary: string
}

export interface Flag {
  /** `-o`, or null. */
  short: string | null
  /** `--output` */
  long: string
  summary: string
  takes: 'nothing' | 'value' | 'file'
  /** Empty when it takes any value. */
  values: readonly string[]
  /** Names on this computer that it takes; null when there are none. */
  names: NameSource | null
}

/** Names that change, or are too many for a script: on Tab, the scripts call `svc config completion --names SOURCE`. */
export const nameSources = [
  'profiles',
  'scenarios',
  'snapshots',
  'topics',
  'suites',
  'projects',
  'slots',
  'requests',
  'keys',
  'faults',
  'tokens',
] as const
export type NameSource = (typeof nameSources)[number]

/** The kind of value that an argument names, in every command. */
const argumentNames: Readonly<Record<string, NameSource>> = {
  topic: 'topics',
  profile: 'profiles',
  suites: 'suites',
  'suite-or-case': 'suites',
  client_id: 'projects',
  slot_id: 'slots',
  request_id: 'requests',
  key_id: 'keys',
  fault_id: 'faults',
}

/** The kind of value of a command's first argument, where its name does not tell. */
const firstArgumentNames: Readonly<Record<string, NameSource | null>> = {
  'sandbox projects create': null,
  'sandbox scenario use': 'scenarios',
  'sandbox snapshot restore': 'snapshots',
  'sandbox snapshot delete': 'snapshots',
  'team tokens revoke': 'tokens',
}

/** The kind of value of a flag, in every command. */
const flagNames: Readonly<Record<string, NameSource>> = {
  '--profile': 'profiles',
  '--scenario': 'scenarios',
  '--client-id': 'projects',
  '--slot-id': 'slots',
}

/** The names and placeholders of arguments and flags that take a file. */
const filePlaceholder = /^[<[](file|export|copy|suites\.\.\.|suite-or-case)[>\]]$|<(file|dir-or-url|name\[=file\])>$/

/** The flags that every command has. */
export const commonFlags: readonly Flag[] = [
  ...commonOptions().map(({ flags, description, argChoices: choices = [] }) => {
    const flag = toFlag({ flags, description, choices, suggestions: [] })
    return flag.long === '--output' ? { ...flag, values: outputFormats } : flag
  }),
  flagWithoutValue('-h', '--help', 'Help for this command'),
]

/** Returns every place of the command line, the start first. */
export function listCompletionSlots(tree: readonly CommandNode[]): CompletionSlot[] {
  const commands = tree.map(({ name, summary }) => ({ name, summary }))
  const help = { name: 'help', summary: 'Help for a command or topic' }
  const helpTopics = ['commands', ...Object.keys(topics)]
  const helpWords = [...commands, ...helpTopics.map((name) => ({ name, summary: `Help: ${name}` }))]
  return [
    {
      path: '',
      words: [...commands, help],
      names: null,
      takesFile: false,
      flags: [...commonFlags, flagWithoutValue('-V', '--version', 'The version')],
    },
    { path: 'help', words: helpWords, names: null, takesFile: false, flags: commonFlags },
    ...tree.flatMap((node) => placesWithin(node, node.name)),
  ]
}

function placesWithin(node: CommandNode, path: string): CompletionSlot[] {
  if (node.commands === undefined) return [commandPlace(node, path)]
  const words = shownCommands(node).map(({ name, summary }) => ({ name, summary }))
  return [
    { path, words, names: null, takesFile: false, flags: commonFlags },
    ...shownCommands(node).flatMap((inner) => placesWithin(inner, `${path} ${inner.name}`)),
  ]
}

function commandPlace({ arguments: args = [], options = [], formats }: CommandNode, path: string): CompletionSlot {
  const words = args.flatMap(({ choices, description }) => choices.map((name) => ({ name, summary: description })))
  const own = options.map(toFlag)
  const taken = new Set(own.map(({ long }) => long))
  const shared = commonFlags.filter(({ long }) => !taken.has(long)).map((flag) => withFormats(flag, formats))
  const takesFile = args.some(({ name }) => filePlaceholder.test(name))
  return { path, words, names: namesAt(path, args), takesFile, flags: [...own, ...shared] }
}

function namesAt(path: string, [first]: NonNullable<CommandNode['arguments']>): NameSource | null {
  if (first === undefined || first.choices.length > 0) return null
  const own = findEntry(firstArgumentNames, path)
  return own === undefined ? (findEntry(argumentNames, first.name.replace(/[<>[\].]/g, '')) ?? null) : own
}

/** Returns the flag unchanged unless the command adds values to it. */
function withFormats(flag: Flag, formats: readonly string[] = []): Flag {
  return flag.long === '--output' && formats.length > 0 ? { ...flag, values: [...formats, ...outputFormats] } : flag
}

function flagWithoutValue(short: string, long: string, summary: string): Flag {
  return { short, long, summary, takes: 'nothing', values: [], names: null }
}

function toFlag({ flags, description, choices, suggestions }: Omit<OptionNode, 'defaultValue' | 'presetArg'>): Flag {
  const { short = null, long = '', required } = new Option(flags)
  const values = choices.length > 0 ? choices : suggestions
  return {
    short,
    long,
    summary: description,
    takes: !required ? 'nothing' : filePlaceholder.test(flags) ? 'file' : 'value',
    values,
    names: values.length === 0 ? (findEntry(flagNames, long) ?? null) : null,
  }
}
