/**
 * What a store decides holds on both adapters, and every mutation of it is noticed by the rule that is about it: SQLite in
 * `npm run test:mutations`, PostgreSQL with two nodes in `npm run test:postgres`.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, expect, test } from 'vitest'
import { root } from '#tests/cli/process.ts'
import { serverVariable } from '#tests/postgres/shared-store.ts'
import { storeMutations } from './mutations.ts'

const url = process.env[serverVariable]
const adapter = url === undefined ? 'sqlite' : 'postgres'
const mutations = storeMutations[adapter]

/** The rules that each mutant breaks, with the reasons. */
const broken = new Map<string, Record<string, string>>()

beforeAll(async () => {
  const args = [join(import.meta.dirname, 'process.ts'), adapter, ...(url === undefined ? [] : [url])]
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
  const [lines, complaints, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (code !== 0) throw new Error(`the mutants of ${adapter} ended with ${code}: ${complaints.slice(-4_000)}`)
  for (const line of lines.trim().split('\n')) {
    const { name, broken: rules } = JSON.parse(line) as { name: string; broken: Record<string, string> }
    broken.set(name, rules)
  }
})

test(`the store on ${adapter} holds every rule`, () => expect(broken.get('none')).toEqual({}))

test('each mutation has a name of its own', () => {
  expect(new Set(mutations.map(({ name }) => name)).size).toBe(mutations.length)
})

test.each(mutations)(`${adapter}, $name: $wrong`, ({ name, noticed_by }) => {
  expect(Object.keys(broken.get(name) ?? {})).toContain(noticed_by)
})
