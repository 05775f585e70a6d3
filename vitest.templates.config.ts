/** `npm run test:templates`: each template as a newcomer gets it, and the single binary. Apart from `npm test`, since it installs from the registry. */
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The slowest first: one that started last would be waited for alone. */
const slow = ['next-chat', 'react-chat', 'browser-chat', 'vitest-suite', 'node-server']

class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const index = slow.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return index === -1 ? slow.length : index
    }
    return files.toSorted((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    include: ['tests/{binary,templates}/**/*.test.ts'],
    globalSetup: 'tests/templates/installed.ts',
    testTimeout: 300_000,
    hookTimeout: 300_000,
    sequence: { sequencer: SlowestFirst },
    // A file has one template: it installs and builds beside others, whose pages mostly wait.
    maxWorkers: availableParallelism() + 1,
  },
})
