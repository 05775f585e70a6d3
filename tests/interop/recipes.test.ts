/** What linters make of the recipes for CI and containers: the action, the workflow of the guide, and every Containerfile. */
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { blocksOf } from '../docs/markdown.ts'
import { checkout } from '../templates/run.ts'
import { installTools } from './tools.ts'

type Validate = (source: string) => { actionType: string; errors: object[] }

let validateAction: Validate
let validateWorkflow: Validate
/** Returns the findings about a Containerfile. */
let lint: (source: string) => { message: string }[]

beforeAll(async () => {
  // Beside the others, where later runs find it again.
  const folder = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'recipe-tools.json'))
  const require = createRequire(join(folder, 'package.json'))
  lint = require('dockerfile-utils').validate
  const actions = require('@action-validator/core')
  validateAction = actions.validateAction
  validateWorkflow = actions.validateWorkflow
})

const read = (file: string) => readFileSync(join(checkout, file), 'utf8')

test('the action is valid, and one with a misspelled field is not', () => {
  const action = read('action.yml')
  expect(validateAction(action)).toEqual({ actionType: 'action', errors: [] })
  expect(validateAction(action.replace('using: composite', 'using: compose')).errors).not.toEqual([])
})

test('the workflow of the guide is valid, and one without a runner is not', () => {
  const workflow = blocksOf('docs/guides/ci.md').find(({ text }) => text.includes('runs-on: '))!.text
  expect(validateWorkflow(workflow)).toEqual({ actionType: 'workflow', errors: [] })
  expect(validateWorkflow(workflow.replace(/ +runs-on: .*\n/, '')).errors).not.toEqual([])
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
