/** The order of test files: those that take long first, since one that started last would be waited for alone. */
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Returns a sequencer that begins with these files, `<folder>/<name>` without `.test.ts`, in this order. */
export function slowestFirst(names: readonly string[]): typeof BaseSequencer {
  const rank = ({ moduleId }: TestSpecification) => {
    const index = names.findIndex((name) => moduleId.includes(`/tests/${name}.test.`))
    return index === -1 ? names.length : index
  }
  return class SlowestFirst extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return files.toSorted((a, b) => rank(a) - rank(b))
    }
  }
}
