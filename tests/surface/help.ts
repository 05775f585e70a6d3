/** Reads what `svc --help` and the completion script of bash print: names, placeholders, choices and defaults, no prose. */

export interface HelpEntry {
  /** `--wait <ms>`, `suites`, `create`. */
  term: string
  description: string
}

export interface Help {
  /** `svc placements create [options]` */
  usage: string
  arguments: HelpEntry[]
  options: HelpEntry[]
  commands: HelpEntry[]
}

export function readHelp(text: string): Help {
  const [head = '', ...rest] = text.split(/\n\n/)
  const section = (title: string) => rest.filter((block) => block.startsWith(`${title}:\n`)).flatMap(entriesOf)
  return {
    usage: head.replace(/^Usage: /, '').replaceAll(/\s+/g, ' '),
    arguments: section('Arguments'),
    options: section('Options'),
    commands: section('Commands'),
  }
}

/** Terms are indented by two, descriptions begin after two spaces or on a line of their own, indented by more. */
function entriesOf(block: string): HelpEntry[] {
  const entries: HelpEntry[] = []
  for (const line of block.split('\n').slice(1)) {
    const [, term, description = ''] = /^ {2}(\S.*?)(?: {2,}(.*))?$/.exec(line) ?? []
    const last = entries.at(-1)
    if (term !== undefined) entries.push({ term, description })
    else if (last !== undefined) last.description = `${last.description} ${line.trim()}`.trim()
  }
  return entries
}

/** The facts in a description: choices, a default that is one word, whether the flag repeats, its decision. */
export function factsOf({ description }: HelpEntry): string {
  const choices = /\(choices: ([^)]*)\)/
    .exec(description)?.[1]
    ?.replaceAll(/[", ]+/g, ' ')
    .trim()
  const preset = /\((default|preset): "?([^")]*)"?\)/.exec(description)
  const byDefault = /\b[Dd]efault:? ([\w./:-]*[\w-])\.?(?=[;,]| \(| \[|$)/.exec(description)?.[1]
  return [
    ...(choices === undefined ? [] : [`choices=${choices.split(' ').join(',')}`]),
    ...(preset === null ? [] : [`${preset[1]}=${preset[2]}`]),
    ...(preset !== null || byDefault === undefined ? [] : [`default=${byDefault}`]),
    ...(description.includes('(repeatable)') ? ['repeatable'] : []),
    ...(/\[(?:documented|observed|assumed)[^\]]*\]/.exec(description) ?? []),
  ].join(' ')
}

export interface Completion {
  /** By command path, '' for the root: words that may follow, flags with the common ones first. */
  places: ReadonlyMap<string, { names: string[]; flags: string[] }>
  /** Returns the values that a flag takes after a command; undefined when it takes none. */
  valuesOf(path: string, flag: string): string[] | undefined
}

export function readCompletion(script: string): Completion {
  const places = new Map<string, { names: string[]; flags: string[] }>()
  const values = new Map<string, string[]>()
  const common = words(/^ {2}flags\+=' ([^']*)'$/m.exec(script)?.[1])
  for (const line of script.split('\n')) {
    const place = /^ {4}'([^'|]*)'\)(?: names='([^']*)')?(?: flags='([^']*)')?/.exec(line)
    if (place !== null) places.set(place[1] ?? '', { names: words(place[2]), flags: [...common, ...words(place[3])] })
    const [, keys = '', offered] = /^ {4}(\*?'[^')]*\|[^)]*)\)(?: values='([^']*)')?/.exec(line) ?? []
    for (const [, key = ''] of keys.matchAll(/(\*?'[^']*)'/g)) values.set(key.replace("'", ''), words(offered))
  }
  return { places, valuesOf: (path, flag) => values.get(`${path}|${flag}`) ?? values.get(`*|${flag}`) }
}

function words(text: string | undefined): string[] {
  return (text ?? '').split(' ').filter((word) => word !== '')
}
