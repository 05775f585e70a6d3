/** The workflow file for hosted checkouts: what it runs is what the README says, on each kind of computer. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseDocument } from 'yaml'
import { checkout } from './unpack.ts'

interface Workflow {
  permissions: Record<string, string>
  jobs: Record<
    string,
    { 'runs-on': string; strategy: { matrix: { os: string[]; node: number[] } }; steps: Record<string, unknown>[] }
  >
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
  const [command = ''] = /^npm ci && npm test(?= )/m.exec(readFileSync(join(checkout, 'README.md'), 'utf8')) ?? []
  const commands = steps.map(({ run }) => String(run))
  expect(commands.filter((run) => command.split(' && ').includes(run))).toEqual(['npm ci', 'npm test'])
  // Between them the Node of the checkout goes, which would run the tests instead of that of the matrix.
  expect(commands.at(-2)).toMatch(/^rm -rf node_modules\/node /)
  const { engines } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { engines: { node: string } }
  expect(strategy.matrix.node).toEqual([22, 24, 26])
  expect(Math.min(...strategy.matrix.node)).toBe(Math.floor(Number(/\d+\.\d+/.exec(engines.node)?.[0])))
  const node = steps.find(({ uses }) => String(uses).startsWith('actions/setup-node@'))
  expect(node?.with).toMatchObject({ 'node-version': expect.stringContaining('matrix.node') })
})
