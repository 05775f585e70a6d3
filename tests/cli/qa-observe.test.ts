/** `svc qa observe` over real integrations: each commits one sin, and one commits none. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rules } from '../../src/qa/observe/judge.ts'
import { trafficRules } from '../../src/qa/observe/rules/index.ts'
import type { CaseResult, RunResult } from '../../src/qa/result.ts'
import { sins } from '../observe/sins.ts'
import { root } from './process.ts'
import { svc, temporaryDirectory } from './world.ts'

const home = temporaryDirectory()
const script = join(root, 'tests/observe/run.ts')
const host = { now: () => Date.now() }

/** Runs an integration under observation, and answers the cases by the names of their rules. */
async function observe(integration: string, args = '') {
  const command = `${process.execPath} ${script} ${integration}`
  const { code, stdout, stderr } = await svc(`qa observe -q -o json ${args} -- ${command}`, {
    env: { SVC_HOME: home, PATH: process.env.PATH as string },
    host,
  })
  expect(stderr).toBe('')
  const { cases } = JSON.parse(stdout) as RunResult
  const byRule = new Map(cases.map((item) => [item.id.replace('observe/', ''), item]))
  const standings = (wanted: string) =>
    [...byRule].flatMap(([name, { tags }]) => (tags[1] === wanted ? [name] : [])).sort()
  return { code, byRule, standings, breached: [...standings('error'), ...standings('warning')].sort() }
}

test('an integration that does all right breaks no rule, although each had something to judge', async () => {
  const { code, byRule, standings, breached } = await observe('clean')
  expect(breached.map((name) => [name, byRule.get(name)?.steps.map(({ title }) => title)])).toEqual([])
  expect(standings('holds')).toEqual(Object.keys(trafficRules).sort())
  expect(code).toBe(0)
}, 60_000)

describe('each rule is broken by its sin, and by no other', () => {
  test.each(Object.entries(sins))(
    '%s',
    async (name, { also = [] }) => {
      const { code, byRule, breached } = await observe(name)
      expect(breached).toEqual([name, ...also].sort())
      const { severity, costs } = rules[name as keyof typeof rules]
      const isError = breached.some((each) => rules[each as keyof typeof rules].severity === 'error')
      expect(code).toBe(isError ? 5 : 0)
      const { outcome, steps } = byRule.get(name) as CaseResult
      expect(outcome).toBe(severity === 'error' ? 'failed' : 'passed')
      expect(steps[0]?.exchanges.length).toBeGreaterThan(0)
      expect(steps[0]?.checks).toMatchObject([
        { subject: name, hint: expect.stringContaining(costs), actual: expect.stringMatching(/\(req_\w{11}/) },
      ])
    },
    30_000,
  )
})
