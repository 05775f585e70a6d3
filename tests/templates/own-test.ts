/** An unchanged template installs, builds and passes its own test. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scaffold } from './scaffolded.ts'

export function testTemplate(name: string): void {
  test(`${name} installs, builds and passes its own test`, async () => {
    const project = await scaffold(name)
    const { pretest, ...scripts } = project.scripts
    for (const script of ['build', 'check']) {
      // What its test builds first is built by that.
      if (scripts[script] !== undefined && scripts[script] !== pretest) await project.run('npm', 'run', script)
    }
    await project.run('npm', 'test')
    expect(existsSync(join(project.directory, '.gitignore'))).toBe(true)
  })
}
