/** Prints values through `--jq`, in the order of the calls. */
import type { SystemStream } from '#text/terminal.ts'
import type { JqFilter } from './jq.ts'

interface FilterPrinter {
  print(values: readonly unknown[]): void
  /** Compiles the expression, so that a typo has no effect. Throws CliError. */
  prepare(): Promise<void>
  /** Resolves when everything is printed. Throws CliError where the expression does not fit the value. */
  flush(): Promise<void>
}

/** `expression` is null without `--jq`. */
export function createFilterPrinter(stdout: SystemStream, expression: string | null): FilterPrinter {
  let compiled: Promise<JqFilter> | undefined
  let printed = Promise.resolve()
  const loadOnce = () => {
    // It is 1.3 MB.
    compiled ??= import('./jq.ts').then(({ compileJq }) => compileJq(expression ?? '.'))
    return compiled
  }
  const printAll = async (values: readonly unknown[]) => {
    const { apply } = await loadOnce()
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
      if (expression !== null) await loadOnce()
    },
    flush: () => printed,
  }
}
