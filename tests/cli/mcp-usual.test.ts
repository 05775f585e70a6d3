/** The ten tools that an agent gets by default: small to list, each doing what the full ones do, in texts that name only them. */
import { expect, onTestFinished, test } from 'vitest'
import { localTools, tools } from '#mcp/tools.ts'
import { namingUsualTools, usualTools } from '#mcp/usual-tools.ts'
import { startSandbox } from '#sandbox/index.ts'
import { connectShort } from './mcp-agent.ts'

/** Of the list, which an agent reads before its first question. */
const maxBytes = 8_000

test('a list of tools is small; every field of the API is one flag away', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const short = await connectShort(sandbox.url)
  const { tools: listed } = await short.client.listTools()
  expect(listed.map(({ name }) => name)).toEqual(usualTools.map(({ name }) => name))
  expect(listed).toHaveLength(10)
  expect(Buffer.byteLength(JSON.stringify({ tools: listed }))).toBeLessThan(maxBytes)
  const stood = usualTools.flatMap(({ standsFor }) => standsFor)
  expect(stood.filter((name) => !tools.some((tool) => tool.name === name))).toEqual([])
  expect(
    localTools
      .map(({ name }) => name)
      .filter((name) => !stood.includes(name))
      .toSorted(),
  ).toEqual(['bundle', 'check_demand', 'compare', 'hosts', 'lint_beacons', 'reconcile', 'show_contract'])
})

test('each does what it says', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const { call, fail } = await connectShort(sandbox.url)
  const { slot_id, decision } = await call<{ slot_id: string; decision: { format: string } }>('create_placement', {
    format: 'banner',
    topic: 'coffee',
    body: { overrides: { bidfloor: 0 }, session_id: 'a1' },
  })
  expect(decision.format).toBe('banner')
  expect(await call('send_beacon', { slot_id, event: 'render' })).toMatchObject({ accepted: true })
  expect(await call('explain_placement')).toMatchObject({ slot_id })
  for (const [what, count] of [
    ['placements', 1],
    ['beacons', 1],
    ['consent', 0],
    ['faults', 0],
  ] as const)
    expect([
      what,
      (await call<Listed>('list', { what, session_id: what === 'faults' ? undefined : 'a1' })).items.length,
    ]).toEqual([what, count])
  const [request] = (await call<Listed>('list', { what: 'requests', limit: 1 })).items
  expect(await call('list', { what: 'requests', request_id: request!.request_id })).toMatchObject({
    path: '/v1/beacons',
  })
  expect(await call('list', { what: 'billing' })).toMatchObject({ totals: [{ count: 0 }] })

  const campaign_id = 'cmp_larkfield_coffee'
  const forced = await call<{ slot_id: string }>('create_placement', { campaign_id, session_id: 'forced' })
  expect(await call('explain_placement', { slot_id: forced.slot_id })).toMatchObject({ campaign_id, forced: true })
  expect(await call('clock', { frozen: true })).toMatchObject({ frozen: true })
  expect(await call('clock', { to_ms: 1_900_000_000_000 })).toMatchObject({ now_ms: 1_900_000_000_000 })
  await call('clock', { advance_ms: 5 })
  expect(await call('clock')).toMatchObject({ now_ms: 1_900_000_000_005, frozen: true })
  expect(await call('clock', { frozen: false })).toMatchObject({ frozen: false })

  await call('fault', { path: '/v1/placements', status: 503, times: 1 })
  expect(await fail('create_placement')).toMatch(/^injected_fault: /)
  await call('fault', { clear: 'faults' })
  await call('fault', { scenario: 'no_fill' })
  expect(await call('create_placement')).toMatchObject({ decision: { fill: false } })
  await call('fault', { clear: 'scenario' })

  await call('state', { action: 'consent', session_id: 'a1', decision: 'withdrawn' })
  expect((await call<Listed>('list', { what: 'consent', session_id: 'a1' })).items).toHaveLength(1)
  expect(await call('state', { action: 'info' })).toMatchObject({ url: sandbox.url })
  expect(await call('run_qa', { suites: ['formats'], grep: 'banner' })).toMatchObject({ totals: { failed: 0 } })
  expect(await call('read_docs', { topic: 'key_class' })).toMatchObject({ topic: 'key_class' })
  await call('state', { action: 'reset' })
  expect((await call<Listed>('list', { what: 'placements' })).items).toEqual([])
  expect(await fail('observe')).toMatch(/^nothing_checked: /)
})

test('a wrong input, an unknown name and a failure are answered in the names of the list', async () => {
  const sandbox = await startSandbox()
  onTestFinished(() => sandbox.close())
  const { fail, client } = await connectShort(sandbox.url)
  expect(await fail('clock', { advance: '1m' })).toMatch(/^input_invalid: The input of clock is invalid\. /)
  expect(await fail('list', { what: 'faults', verdict: 'accepted' })).toContain('verdict')
  await expect(client.callTool({ name: 'clok' })).rejects.toThrow('There is no tool clok. Did you mean clock?')
  // A full name is known too: a page or an answer of before may have it.
  expect((await client.callTool({ name: 'list_faults' })).isError).not.toBe(true)
  expect(namingUsualTools('Use list_requests, then reset_sandbox or explain_placement.')).toBe(
    'Use list with what requests, then state or explain_placement.',
  )
})

interface Listed {
  items: { request_id: string }[]
}
