/** Personal data in a topic, as the commands say it: warned of, explained, refused, and found in the journal. */
import { expect, test } from 'vitest'
import { startTestCli } from './test-cli.ts'

const topic = 'flowers for ann@example.org, 14 Elm Road, Leeds LS1 4AP'

test('it is warned of, and explained beside what partners would have received', async () => {
  await using cli = await startTestCli()
  const created = await cli.svc(`placements create --topic '${topic}'`)
  expect(created.code).toBe(0)
  expect(created.stderr).toContain(
    'personal_data: The topic, metadata or another text of the request seems to contain personal data',
  )
  const explained = await cli.svc('explain')
  const [, request = ''] = explained.stdout.split('\nPartner request\n')
  expect(request).toContain(`  topic               ${topic}\n`)
  const line =
    '  ! topic seems to contain an e-mail address and a postal address: every partner would have received it.\n'
  expect(request).toContain(line)
  const { stdout } = await cli.svc('explain -o json')
  expect(JSON.parse(stdout)).toMatchObject({
    personal_data: [{ path: 'topic', kinds: ['email_address', 'postal_address'] }],
  })
  await cli.svc('placements create --topic flowers')
  expect((await cli.svc('explain')).stdout).not.toContain('seems to contain')
})

test('a project refuses it by a setting, and observe finds both, without the value', async () => {
  await using cli = await startTestCli()
  const send = async () => {
    const headers = { authorization: 'Bearer sk_test_sandbox_demo', 'content-type': 'application/json' }
    const body = JSON.stringify({ client_id: 'proj_demo', session_id: 's1', job_type: 'chat', prompt: { topic } })
    return (await fetch(`${cli.sandbox.url}/v1/placements`, { method: 'POST', headers, body })).status
  }
  expect(await send()).toBe(200)
  expect((await cli.svc('sandbox projects update proj_demo --personal-data reject')).stdout).toContain(
    'personal_data  reject  (was warn)',
  )
  expect(await send()).toBe(400)
  const refused = await cli.svc(`placements create --topic '${topic}'`)
  expect(refused.code).toBe(3)
  expect(refused.stderr).toContain('prompt.topic: seems to contain an e-mail address and a postal address')
  expect(refused.stderr).toContain('reason personal_data_in_field')
  expect(refused.stderr).not.toContain('ann@')

  const stdout = (await cli.svc('observe --since 1h')).stdout.replaceAll(/\s+/g, ' ')
  const words = 'prompt.topic of POST /v1/placements seems to contain an e-mail address and a postal address'
  expect(stdout).toContain(`${words} (once).`)
  expect(stdout).toContain(`${words}, refused (once).`)
  expect(stdout).not.toContain('ann@')
})
