import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { startTestCli, svc } from './test-cli.ts'

test('open frame prints the frame URL of the last fill', async () => {
  await using cli = await startTestCli()
  const created = await cli.svc('placements create --format banner -o json')
  const { placement } = JSON.parse(created.stdout) as { placement: { render: { frame_url: string } } }
  const { frame_url } = placement.render
  const { code, stdout, stderr } = await cli.svc('open frame -o json')
  expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 0, stdout: { url: frame_url, opened: false } })
  expect(stderr).toContain(`Not opened, this is not a terminal: ${frame_url}\n`)
  expect(await (await fetch(frame_url)).text()).toContain('Preview: opened outside a page')
  const named = await cli.svc(`open ${frame_url.split('/').at(-1)} -q`)
  expect(named).toEqual({ code: 0, stdout: `${frame_url}\n`, stderr: '' })
})

test('on a terminal without a display nothing is opened, and it says so', async () => {
  await using cli = await startTestCli()
  const system = { platform: 'linux' }
  const { code, stderr } = await cli.svc('placements create --format banner --open', { isTerminal: true, system })
  expect(code).toBe(0)
  expect(stderr).toContain('Not opened, no browser was found.')
})

test('placements create --open of a no-fill has nothing to show', async () => {
  await using cli = await startTestCli()
  const { code, stderr } = await cli.svc('placements create --no-fill --open -o none')
  expect({ code, stderr }).toEqual({ code: 0, stderr: 'Not opened: there is no fill to show.\n' })
})

test('api render.frame of a frame that is not there says why, without the HTML of its page', async () => {
  await using cli = await startTestCli()
  await cli.svc('placements create --format banner')
  await cli.svc('sandbox clock advance 301s')
  const expired = await cli.svc('api render.frame')
  expect(expired).toEqual({
    code: 3,
    stdout: '',
    stderr: expect.stringMatching(
      /\nerror: GET \/v1\/render\/\{asset_token\} responded with 404 and a page: The asset token has expired\. asset_token_expired\nhint: Request a new placement for the next turn; do not store fills\.\nreason asset_token_expired, request req_\w+\n$/,
    ),
  })
  const unknown = await cli.svc(`api render.frame ast_00000000001_${'a'.repeat(43)} -o json`)
  expect([unknown.code, JSON.parse(unknown.stderr)]).toMatchObject([
    3,
    { error: { code: 'not_found', reason_code: 'asset_token_invalid', hint: expect.stringMatching(/\.$/) } },
  ])
})

test('svc open prints the address of the inspector, and of the page of anything that a command prints', async () => {
  await using cli = await startTestCli()
  const pageOf = async (args: string) => (await cli.svc(`open ${args} -q`)).stdout.trimEnd()
  expect(await pageOf('')).toBe(`${cli.sandbox.url}/_sandbox/`)
  const created = await cli.svc('placements create --format banner -o json')
  const { slot_id } = JSON.parse(created.stdout) as { slot_id: string }
  const address = `${cli.sandbox.url}/_sandbox/placements/${slot_id}`
  const { code, stdout, stderr } = await cli.svc(`open ${slot_id} -o json`)
  expect({ code, stdout: JSON.parse(stdout) }).toEqual({ code: 0, stdout: { url: address, opened: false } })
  expect(stderr).toBe(`Not opened, this is not a terminal: ${address}\n`)
  await cli.svc('placements create --session-id sess/1 -q')
  for (const [id, path] of [
    ['proj_demo', 'projects/proj_demo'],
    ['proj_demo~12', 'id/proj_demo~12'],
    ['sess/1', 'id/sess%2F1'],
    ['console', 'console'],
  ] as const) {
    const url = await pageOf(id)
    expect(url).toBe(`${cli.sandbox.url}/_sandbox/${path}`)
    expect((await fetch(url)).status).toBe(200)
  }
})

test('svc open without a sandbox says how to start one', async () => {
  const { code, stderr } = await svc('open', { env: { SVC_HOME: temporaryDirectory() } })
  expect({ code, stderr }).toEqual({ code: 7, stderr: expect.stringContaining('Start one: svc start') })
})
