/** `beacons tail`: line by line, and once on the whole screen of a terminal; tests/processes has the rest of its screens. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { follow } from './follow.ts'
import { openScript } from './script-terminal.ts'
import { listed, openStage, restored, shows, textOf } from './tail-stage.ts'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

test('in a terminal the list follows on a screen of its own, and q gives the terminal back', async () => {
  const { terminal, fill, beacon, reject } = await openStage(openScript)
  await shows(terminal, '● live', 'No new beacon yet.', 'following')
  expect([terminal.isAlternate(), terminal.isCursorShown()]).toEqual([true, false])
  await beacon(await fill(), 'render')
  await reject()
  await shows(terminal, '2 beacons   0 duplicate   1 rejected')
  expect(listed(terminal)).toEqual([
    expect.stringMatching(/render {10}banner {2}slot_\w{11} {2}✓ accepted {7}no$/),
    expect.stringMatching(/click {11}- {7}- {17}✗ asset_token_invalid$/),
  ])
  terminal.type('k')
  await shows(terminal, '1 of 2')
  expect(textOf(terminal)).toMatch(/^› .*render/m)
  await restored(terminal, 'q', 0)
})

test('without a terminal each beacon is one line', async () => {
  await cli.svc('placements create --format banner')
  await cli.svc('beacons send --event render --set beacon_id=tail_line_1')
  await cli.svc('beacons send --event click --set asset_token=nonsense')
  const text = await printed('beacons tail --since 10m', 2)
  expect(text.stdout.replace(/slot_\w{11}/, 'slot_*')).toBe(`\
2026-01-31T12:00:00.000Z  render          banner  slot_*  ✓ accepted
2026-01-31T12:00:00.000Z  click           -       -                 ✗ rejected asset_token_invalid
`)
  expect(text).toMatchObject({ code: 130, stderr: '' })
  const jsonl = await printed('beacons tail --since 10m -o jsonl --rejected', 1)
  const listed = await cli.svc('beacons list -o jsonl --verdict rejected')
  expect(jsonl.stdout).toBe(listed.stdout)
  const picked = await printed('beacons tail --since 10m -o json --event render --format banner', 1)
  expect(JSON.parse(picked.stdout)).toMatchObject({ beacon_id: 'tail_line_1', verdict: 'accepted' })
})

test('a list says which beacons no list has: those refused before a placement was looked for', async () => {
  expect((await cli.svc('beacons list')).stderr).not.toContain('refused')
  const headers = { authorization: 'Bearer sk_test_of_nobody', 'content-type': 'application/json' }
  const { status } = await fetch(`${cli.sandbox.url}/v1/beacons`, { method: 'POST', headers, body: '{}' })
  expect(status).toBe(401)
  const { stderr } = await cli.svc('beacons list --verdict rejected')
  expect(stderr).toContain(
    '1 beacon was refused before a placement was looked for (key_unknown), and is not in this list',
  )
})

test('a flag value that the contract does not have is refused', async () => {
  expect(await cli.svc('beacons tail --event nonsense')).toMatchObject({ code: 2, stdout: '' })
  expect(await cli.svc('beacons tail --since yesterday')).toMatchObject({ code: 2, stdout: '' })
})

/** Runs a tail until it has printed `lines` lines, then interrupts it. */
async function printed(args: string, lines: number) {
  const following = follow(args, { env: { SVC_HOME: cli.home } })
  await following.until(({ stdout }) => stdout.split('\n').length > lines)
  following.signal()
  return following.ended
}
