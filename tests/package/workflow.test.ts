/** The workflow file for hosted checkouts: what it runs is what the README says, on each kind of computer. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { checkout } from './unpack.ts'

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<string, { 'runs-on': string; strategy: { matrix: { os: string[] } }; steps: Record<string, unknown>[] }>
}

const file = join(checkout, '.github/workflows/test.yml')

test('every workflow is valid YAML, without a key that is there twice', () => {
  const files = globSync('.github/workflows/*', { cwd: checkout })
  expect(files).toEqual([join('.github', 'workflows', 'test.yml')])
  const { errors, warnings } = parseDocument(readFileSync(file, 'utf8'), { uniqueKeys: true })
  expect([...errors, ...warnings]).toEqual([])
})

test('it runs the command of the README on Linux, Windows and macOS, and may only read', () => {
  const { permissions, jobs } = parseDocument(readFileSync(file, 'utf8')).toJS() as Workflow
  const { 'runs-on': computer, strategy, steps } = jobs.test!
  expect(Object.keys(jobs)).toEqual(['test'])
  expect(permissions).toEqual({ contents: 'read' })
  expect(computer).toContain('matrix.os')
  expect(strategy.matrix.os).toEqual(['ubuntu-latest', 'windows-latest', 'macos-latest'])
  const [command] = /^npm ci && npm test(?= )/m.exec(readFileSync(join(checkout, 'README.md'), 'utf8'))!
  expect(steps.at(-1)).toEqual({ run: command, shell: 'bash' })
  const { engines } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { engines: { node: string } }
  const node = steps.find(({ uses }) => String(uses).startsWith('actions/setup-node@'))!.with as {
    'node-version': number
  }
  expect(node['node-version']).toBeGreaterThanOrEqual(Math.ceil(Number(/\d+\.\d+/.exec(engines.node)![0])))
})
