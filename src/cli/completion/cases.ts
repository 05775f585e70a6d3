/** The places as `case` statements, which bash and zsh read alike. */
import { askFor, type NameSource } from './names.ts'
import type { Flag, Place } from './tree.ts'

/**
 * `_svc_value PATH FLAG`: sets `values` and what to `ask` for; false when the flag takes none. `_svc_place PATH`: sets
 * `names`, `flags` and `ask`; false when there is no such place.
 */
export function caseFunctions(places: readonly Place[]): string[] {
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
