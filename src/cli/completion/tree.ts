/** The command tree as completion needs it: what may follow which words. */
import type { Option } from 'commander'
import { suggestedValues } from '../endpoint/flags.ts'
import { type Command, type CommandGroup, isGroup } from '../run/command.ts'
import { globalOptions } from '../run/parser.ts'
import { topics } from '../run/topics.ts'
import { outputFormats } from '../settings/settings.ts'
import { argumentNames, flagNames, type NameSource } from './names.ts'

/** One place in the command line: behind the words of `path`. */
export interface Place {
  /** `placements create`; empty at the start. */
  path: string
  /** What may stand there: commands, or the values of an argument. */
  words: readonly Word[]
  /** Names to ask for beside the words; null where there are none. */
  names: NameSource | null
  flags: readonly Flag[]
}

export interface Word {
  name: string
  summary: string
}

export interface Flag {
  /** `-o`, where it has one. */
  short: string | null
  /** `--output` */
  long: string
  summary: string
  takes: 'nothing' | 'value' | 'file'
  /** Empty when any value will do. */
  values: readonly string[]
  /** Names to ask for as its value; null where there are none. */
  names: NameSource | null
}

export interface Named {
  name: string
  entry: Command | CommandGroup
}

/** Every place, the start first. */
export function placesOf(named: readonly Named[]): Place[] {
  const commands = named.map(({ name, entry }) => ({ name, summary: entry.summary }))
  const help = { name: 'help', summary: 'Help of a command, or of a topic' }
  const helped = [...commands, ...Object.keys(topics).map((name) => ({ name, summary: `Help: ${name}` }))]
  return [
    {
      path: '',
      words: [...commands, help],
      names: null,
      flags: [...globals(), flag('-V', '--version', 'The version')],
    },
    { path: 'help', words: helped, names: null, flags: [] },
    ...named.flatMap(({ name, entry }) => placesWithin(entry, name)),
  ]
}

function placesWithin(entry: Command | CommandGroup, path: string): Place[] {
  if (!isGroup(entry)) return [commandPlace(entry, path)]
  const words = entry.commands.map(({ name, summary }) => ({ name, summary }))
  return [
    { path, words, names: null, flags: globals() },
    ...entry.commands.flatMap((inner) => placesWithin(inner, `${path} ${inner.name}`)),
  ]
}

function commandPlace(command: Command, path: string): Place {
  const words = (command.arguments ?? []).flatMap(({ argChoices = [], description }) =>
    argChoices.map((name) => ({ name, summary: description })),
  )
  const own = (command.options ?? []).map(flagOf)
  const taken = new Set(own.map(({ long }) => long))
  const shared = globals(command.formats).filter(({ long }) => !taken.has(long))
  const names = words.length === 0 ? (argumentNames[path] ?? null) : null
  return { path, words, names, flags: [...own, ...shared] }
}

function globals(formats: readonly string[] = []): Flag[] {
  const options = globalOptions().map((option) => {
    const known = flagOf(option)
    return known.long === '--output' ? { ...known, values: [...formats, ...outputFormats] } : known
  })
  return [...options, flag('-h', '--help', 'Help of this command')]
}

function flag(short: string, long: string, summary: string): Flag {
  return { short, long, summary, takes: 'nothing', values: [], names: null }
}

function flagOf(option: Option): Flag {
  return {
    short: option.short ?? null,
    long: option.long ?? '',
    summary: option.description,
    takes: !option.required ? 'nothing' : option.flags.endsWith('<file>') ? 'file' : 'value',
    values: suggestedValues(option),
    names: suggestedValues(option).length === 0 ? (flagNames[option.long ?? ''] ?? null) : null,
  }
}
