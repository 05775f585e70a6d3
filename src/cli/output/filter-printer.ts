/** Prints values through `--jq` or `--template`, in the order of the calls. */
import type { SystemStream } from '../run/system.ts'
import type { Style } from './terminal.ts'

/** The result of `--jq` or `--template` for a value. */
type OutputFilter = (value: unknown) => Promise<string> | string

/** The transformation of the JSON that replaces the text. */
export interface ValueFilter {
  kind: 'jq' | 'template'
  text: string
}

interface FilterPrinter {
  print(values: readonly unknown[]): void
  /** Compiles the filter, so that a typo has no effect. Throws CliError. */
  prepare(): Promise<void>
  /** Resolves when everything is printed. Throws CliError where the filter does not fit the value. */
  flush(): Promise<void>
}

export function createFilterPrinter(
  stdout: SystemStream,
  filter: ValueFilter | null,
  style: () => Style,
): FilterPrinter {
  let compiled: Promise<OutputFilter> | undefined
  let printed = Promise.resolve()
  const loadOnce = () => {
    compiled ??= loadFilter(filter, style)
    return compiled
  }
  const printAll = async (values: readonly unknown[]) => {
    const apply = await loadOnce()
    for (const value of values) {
      const text = await apply(value)
      if (text !== '') stdout.write(text.endsWith('\n') ? text : `${text}\n`)
    }
  }
  return {
    /** The first failure ends the printing, and `flush` throws it. */
    print(values) {
      printed = printed.then(() => printAll(values))
      // It is reported by `flush`, which may be called later.
      printed.catch(() => {})
    },
    async prepare() {
      if (filter !== null) await loadOnce()
    },
    flush: () => printed,
  }
}

/** Loads the code for a filter: jq is 1.3 MB, templates a tenth of that. */
async function loadFilter(filter: ValueFilter | null, style: () => Style): Promise<OutputFilter> {
  const [{ compileJq }, { compileTemplate }] = await Promise.all([import('./jq.ts'), import('./template.ts')])
  if (filter?.kind === 'jq') return (await compileJq(filter.text)).apply
  return compileTemplate(filter?.text ?? '', style())
}
