/**
 * `npm run test:computers`: the packed package on computers that this one can imitate, Windows under Wine and Linux on
 * ARM under QEMU. `.ci/other-computers` installs both. What is missing is said, and no test stands for it.
 */
import { defineConfig } from 'vitest/config'
import { imitatedComputers, missingComputers } from '#tests/other-computers/computers.ts'

const imitated = imitatedComputers()
for (const line of missingComputers(imitated)) console.log(line)

export default defineConfig({
  test: {
    include: imitated.map(({ name }) => `tests/other-computers/${name}.test.ts`),
    passWithNoTests: imitated.length === 0,
    // The first looks for the Nodes in the temporary folder of the system, before a run gets one of its own.
    globalSetup: ['tests/other-computers/installed.ts', 'tests/temporary-root.ts'],
    setupFiles: 'tests/setup.ts',
    testTimeout: 180_000,
    hookTimeout: 180_000,
    maxWorkers: 2,
  },
})
