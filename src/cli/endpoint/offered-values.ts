/** What may stand behind a flag, for completion: of flags whose values commander does not check itself. */
import type { Option } from 'commander'

const offered = new WeakMap<Option, readonly string[]>()

/** Notes the values of a flag; answers the flag. */
export function offer(option: Option, values: readonly string[]): Option {
  offered.set(option, values)
  return option
}

export function valuesOf(option: Option): readonly string[] {
  return option.argChoices ?? offered.get(option) ?? []
}
