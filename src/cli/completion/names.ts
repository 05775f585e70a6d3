/** Names that only this machine knows: the scripts ask `svc completion --names SOURCE` for them, when Tab is pressed. */

export const nameSources = ['profiles', 'scenarios', 'snapshots'] as const
export type NameSource = (typeof nameSources)[number]

/** What the first argument of a command names, by the words that call it. */
export const argumentNames: Readonly<Record<string, NameSource>> = {
  'config use': 'profiles',
  'sandbox scenario use': 'scenarios',
  'sandbox snapshot restore': 'snapshots',
  'sandbox snapshot delete': 'snapshots',
}

/** What the value of a flag names, whatever command it is of. */
export const flagNames: Readonly<Record<string, NameSource>> = {
  '--profile': 'profiles',
  '--scenario': 'scenarios',
}

/** The command line that prints the names of a source, one a line. */
export function askFor(source: NameSource): string {
  return `svc completion --names ${source}`
}
