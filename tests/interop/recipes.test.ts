/** What linters make of the recipes for CI and containers: the action, the workflow of the guide, and every Containerfile. */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { beforeAll, expect, inject, test } from 'vitest'
import { blocksOf } from '../docs/markdown.ts'
import { checkout, run } from '../templates/run.ts'
import { temporaryDirectory } from '../temporary.ts'
import { installTools } from './tools.ts'

type Validate = (source: string) => { actionType: string; errors: object[] }

let tools: string
let validateAction: Validate
let validateWorkflow: Validate
let validateCtrf: (report: unknown) => { valid: boolean; errors: object[] }
/** Returns the findings about a Containerfile. */
let lint: (source: string) => { message: string }[]

beforeAll(async () => {
  // Beside the others, where later runs find it again.
  tools = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'recipe-tools.json'))
  const require = createRequire(join(tools, 'package.json'))
  lint = require('dockerfile-utils').validate
  const actions = require('@action-validator/core')
  validateAction = actions.validateAction
  validateWorkflow = actions.validateWorkflow
  validateCtrf = (await import(pathToFileURL(require.resolve('ctrf')).href)).validate
})

const read = (file: string) => readFileSync(join(checkout, file), 'utf8')

test('the action is valid, and one with a misspelled field is not', () => {
  const action = read('action.yml')
  expect(validateAction(action)).toEqual({ actionType: 'action', errors: [] })
  expect(validateAction(action.replace('using: composite', 'using: compose')).errors).not.toEqual([])
})

test('the workflows of the guide are valid, and one without a runner is not', () => {
  const workflows = blocksOf('docs/guides/ci.md').filter(({ text }) => text.includes('runs-on: '))
  expect(workflows).toHaveLength(2)
  for (const { text } of workflows) {
    expect(validateWorkflow(text)).toEqual({ actionType: 'workflow', errors: [] })
    expect(validateWorkflow(text.replace(/ +runs-on: .*\n/, '')).errors).not.toEqual([])
  }
})

test('the pipeline of GitLab is valid by its schema, and one with a misspelled report is not', async () => {
  const pipeline = blocksOf('docs/guides/ci.md').find(({ heading }) => heading === 'GitLab CI')!.text
  const folder = temporaryDirectory()
  await run('git', ['init', '-q'], folder)
  await run('git', ['remote', 'add', 'origin', 'https://gitlab.test/shop/app.git'], folder)
  const check = (text: string) => {
    writeFileSync(join(folder, '.gitlab-ci.yml'), text)
    return run(process.execPath, [join(tools, 'node_modules/gitlab-ci-local/dist/index.js'), '--list'], folder)
  }
  expect(await check(pipeline)).toMatch(/^test\b/m)
  await expect(check(pipeline.replace('junit:', 'junits:'))).rejects.toThrow("'junits' property is not expected")
})

test('a CTRF report is valid for the tool of its authors', async () => {
  const folder = temporaryDirectory()
  await run(
    process.execPath,
    [join(checkout, 'bin/svc.js'), 'qa', 'run', 'consent', '--fresh', '--reporter', 'ctrf=a.json'],
    folder,
  )
  const report = readFileSync(join(folder, 'a.json'), 'utf8')
  expect(validateCtrf(JSON.parse(report))).toEqual({ valid: true, errors: [] })
  expect(validateCtrf(JSON.parse(report.replace('"status": "passed"', '"status": "fine"'))).valid).toBe(false)
})

test('no Containerfile has a finding, and a wrong one has', () => {
  const files = globSync('deploy/**/*Containerfile', { cwd: checkout })
  expect(files.toSorted()).toEqual(['deploy/Containerfile', 'deploy/sandbox.Containerfile'])
  const inGuide = blocksOf('docs/guides/containers.md').find(({ language }) => language === 'dockerfile')!.text
  for (const source of [...files.map(read), inGuide]) expect(lint(source)).toEqual([])
  expect(lint('FROM node:24\nEXPOSE web\nHEALTHCHECK --every=1s CMD true\n').map(({ message }) => message)).toEqual([
    'Invalid containerPort: web',
    'Unknown flag: every',
  ])
})
