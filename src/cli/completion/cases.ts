/** The places as `case` statements, which bash and zsh read alike. */
import type { Flag, Place } from './tree.ts'

/**
 * `_svc_value PATH FLAG`: sets `values`; false when the flag takes none. `_svc_place PATH`: sets `names` and `flags`;
 * false when there is no such place.
 */
export function caseFunctions(places: readonly Place[]): string[] {
  return [
    '_svc_value() {',
    "  values=''",
    '  case "$1|$2" in',
    ...places.flatMap((place) => place.flags.filter(({ takes }) => takes !== 'nothing').map(valueCase(place))),
    '    *) return 1 ;;',
    '  esac',
    '}',
    '_svc_place() {',
    '  case "$1" in',
    ...places.map(({ path, words, flags }) => {
      const names = words.map(({ name }) => name)
      return `    '${path}') names='${names.join(' ')}' flags='${flags.map(({ long }) => long).join(' ')}' ;;`
    }),
    '    *) return 1 ;;',
    '  esac',
    '}',
  ]
}

function valueCase({ path }: Place) {
  return ({ short, long, values }: Flag) => {
    const patterns = [short, long].filter((name) => name !== null).map((name) => `'${path}|${name}'`)
    return `    ${patterns.join(' | ')}) values='${values.join(' ')}' ;;`
  }
}
