/** Each template, scaffolded into an empty directory: it installs, builds, and passes its own test. */
import { existsSync, globSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { listTemplates } from '../../src/scaffold/templates.ts'
import { scaffold } from './scaffolded.ts'

test.each(listTemplates().map(({ name }) => name))('%s installs, builds and passes its own test', async (name) => {
  const project = await scaffold(name)
  for (const script of ['build', 'check']) {
    if (project.scripts[script] !== undefined) await project.run('npm', 'run', script)
  }
  await project.run('npm', 'test')
  expect(existsSync(join(project.directory, '.gitignore'))).toBe(true)
  expect(globSync('.svc-init-*', { cwd: inject('newcomer') })).toEqual([])
})
