import type { Argument } from 'commander'
import { findEntry } from '#foundation/table-entry.ts'
import type { AnyCommand, Command } from './command.ts'
import type { CommandNode } from './help.ts'

/** Earlier spellings of flags, which still work. */
const earlierFlags: Readonly<Record<string, string>> = {
  '--session': '--session-id',
  '--slot': '--slot-id',
  '--client': '--client-id',
  '--plan': '--dry-run',
}

/** Returns a command line with the current spelling of its flags. The words after `--` stay unchanged. */
export function withCurrentFlags(args: readonly string[]): string[] {
  const own = args.includes('--') ? args.indexOf('--') : args.length
  return args.map((word, index) => {
    const [name = ''] = word.split('=', 1)
    const current = index < own ? findEntry(earlierFlags, name) : undefined
    return current === undefined ? word : current + word.slice(name.length)
  })
}

/** Returns a message about a command line with the flags as they were typed. */
export function withTypedFlags(message: string, args: readonly string[]): string {
  for (const [earlier, current] of Object.entries(earlierFlags)) {
    const isTyped = args.some((word) => word.split('=', 1)[0] === earlier)
    if (isTyped && message.includes(`'${current}'`)) return message.replace(current, earlier)
  }
  return message
}

/** What other tools call a command that follows something, or its flag. */
const followWords: ReadonlySet<string> = new Set(['tail', 'watch', 'follow', 'stream', '-f', '--follow'])
const followHint = 'svc sandbox logs follows requests, svc beacons tail follows beacons.'

/** If more commands than this end with a word, one of those with the fewest words is an example. */
const maxVerbHints = 4

/**
 * Returns what to type in place of a verb or a noun without the noun before it, or null: `svc status` is `svc sandbox status`,
 * `svc snapshot` is `svc sandbox snapshots`.
 */
export async function verbHint(commands: readonly AnyCommand[], word: string): Promise<string | null> {
  if (followWords.has(word)) return followHint
  const { commandTree } = await import('./help.ts')
  const listPaths = ({ name, commands }: CommandNode): string[] =>
    commands === undefined ? [name] : [name, ...commands.flatMap(listPaths).map((path) => `${name} ${path}`)]
  const all = (await commandTree(commands)).flatMap(listPaths)
  const spellings = [word, `${word}s`, word.replace(/s$/, '')].map((spelling) => ` ${spelling}`)
  const found = all.filter((path) => spellings.some((end) => path.endsWith(end))).map((path) => `svc ${path}`)
  if (found.length === 0) return null
  if (found.length > maxVerbHints) {
    const [shortest] = found.toSorted((one, other) => one.split(' ').length - other.split(' ').length)
    return `There are ${found.length}, such as ${shortest}.`
  }
  return found.length === 1 ? `It is ${found[0]}.` : `There are ${found.slice(0, -1).join(', ')} and ${found.at(-1)}.`
}

/** A hint lists at most this many commands of a group; its help lists all of them. */
const maxListedVerbs = 14

/** Returns the commands of the group that the words lead to, or null: `Commands of svc consent: set, withdraw, show.` */
export async function verbsHint(commands: readonly AnyCommand[], words: readonly string[]): Promise<string | null> {
  const { commandTree, shownCommands } = await import('./help.ts')
  let within = await commandTree(commands)
  const path: string[] = []
  for (const word of words) {
    if (followWords.has(word)) return followHint
    const inner = within.find(({ name }) => name === word)?.commands
    if (inner === undefined) break
    within = inner
    path.push(word)
  }
  if (within.length > maxListedVerbs) return null
  return `Commands of svc ${path.join(' ')}: ${shownCommands({ commands: within })
    .map(({ name }) => name)
    .join(', ')}.`
}

/** The command whose words are parsed, and the words that call it. */
export interface ReachedCommand {
  command: Command
  path: string
}

/** Flags that existed, and what does the same. */
const removedFlags: Readonly<Record<string, string>> = {
  '--compact': 'It prints lines everywhere.',
  '--har': 'It writes HAR 1.2 without a flag.',
  '--last': 'It is the default: leave it out.',
  '--template': 'Use --jq, whose strings have values in them: --jq \'.items[] | "\\(.slot_id) \\(.status)"\'',
}

export function unknownFlagHint(message: string, { command, path }: ReachedCommand, hasDashes: boolean): string | null {
  if (/'-\d/.test(message)) return command.negativeHint ?? null
  const [, flag = ''] = /unknown option '([^'=]+)/.exec(message) ?? []
  const instead = findEntry(removedFlags, flag)
  if (instead !== undefined) return instead
  if (followWords.has(flag) && path !== 'sandbox logs') return followHint
  if (!command.passesThrough || hasDashes) return argumentHint(message, path, command)
  return message.includes('Did you mean') ? null : `Write the command after --: svc ${command.examples[0]}`
}

/** Returns how to give the argument that an unknown flag names: `--file x` for a command that takes `[file]`. */
function argumentHint(message: string, path: string, { arguments: all = [] }: Command): string | null {
  const [, typed] = /unknown option '--([^'=]+)/.exec(message) ?? []
  const known = all.find((argument) => argument.name().replaceAll('_', '-') === typed)
  return known === undefined ? null : `It is an argument: svc ${path} ${argumentPlaceholder(known)}`
}

function argumentPlaceholder(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? '...' : ''}`
  return argument.required ? `<${name}>` : `[${name}]`
}
