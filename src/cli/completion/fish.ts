import { askFor } from './names.ts'
import type { Flag, Place } from './tree.ts'

export function fishCompletion(places: readonly Place[]): string[] {
  return [
    '# fish completion for svc. Save it: svc completion fish > ~/.config/fish/completions/svc.fish',
    `set -g __svc_paths ${places
      .filter(({ path }) => path !== '')
      .map(({ path }) => quoted(path))
      .join(' ')}`,
    `function __svc_at
    set -l at ''
    for word in (commandline -opc)[2..-1]
        test "$word" = --; and return 1
        set -l next (string trim -- "$at $word")
        contains -- "$next" $__svc_paths; and set at $next
    end
    test "$at" = "$argv[1]"
end`,
    ...places.flatMap(({ path, words, names, flags }) => {
      const at = `complete -c svc -n ${quoted(`__svc_at ${quoted(path)}`)}`
      return [
        ...words.map(({ name, summary }) => `${at} -f -a ${quoted(name)} -d ${quoted(summary)}`),
        ...(names === null ? [] : [`${at} -f -a ${quoted(`(${askFor(names)} 2>/dev/null)`)}`]),
        ...flags.map((flag) => `${at} ${flagWords(flag)} -d ${quoted(flag.summary)}`),
      ]
    }),
  ]
}

function flagWords({ short, long, takes, values, names: source }: Flag): string {
  const names = `${short === null ? '' : `-s ${short.slice(1)} `}-l ${long.slice(2)}`
  if (takes === 'nothing') return names
  if (takes === 'file') return `${names} -r -F`
  if (source !== null) return `${names} -x -a ${quoted(`(${askFor(source)} 2>/dev/null)`)}`
  return values.length === 0 ? `${names} -x` : `${names} -x -a ${quoted(values.join(' '))}`
}

function quoted(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}
