import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { testTemplate } from './own-test.ts'
import { scaffold } from './scaffolded.ts'

const python = spawnSync('python3', ['-c', 'import flask'])

if (python.status === 0) testTemplate('flask-server')
else
  test('flask-server installs and its Python compiles; python3 has no Flask here, so its own tests cannot run', async () => {
    const project = await scaffold('flask-server')
    expect(project.scripts.test).toContain('python3 -m unittest')
    await project.run('python3', '-m', 'compileall', '-q', 'app', 'tests')
  })
