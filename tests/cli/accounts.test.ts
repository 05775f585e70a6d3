/** Projects, keys and consent as the command line administers them. */
import { rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestCli, type TestCli } from './test-cli.ts'

let cli: TestCli
beforeAll(async () => {
  cli = await startTestCli()
})
afterAll(() => cli?.[Symbol.asyncDispose]())

describe('svc projects', () => {
  test('list prints a table', async () => {
    expect((await cli.svc('sandbox projects list')).stdout).toBe(`\
project      enabled  billing       consent  revision  origins
proj_strict  yes      cpm_viewable  yes             1  https://app.example.com
proj_other   yes      cpm_viewable  no              1  http://localhost:*, http://127.0.0.1:*
proj_demo    yes      cpm_viewable  no              1  http://localhost:*, http://127.0.0.1:*
`)
  })

  test('create takes the name as an argument and settings as flags; its keys work', async () => {
    const { code, stdout, stderr } = await cli.svc(
      'sandbox projects create proj_mine --label-text Ad --set consent.ttl_ms=1000 -o json',
    )
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: 'Its keys are stored: use them with --client-id proj_mine\n',
    })
    const { keys, settings } = JSON.parse(stdout) as { keys: { secret_key: string }; settings: { label_text: string } }
    expect(settings).toMatchObject({ label_text: 'Ad', consent: { ttl_ms: 1000 } })
    const filled = await cli.svc(
      `placements create --format banner --client-id proj_mine --secret-key ${keys.secret_key}`,
    )
    expect([filled.code, filled.stderr]).toEqual([0, ''])
    const again = await cli.svc('sandbox projects create proj_mine')
    expect(again.code).toBe(3)
    expect(again.stderr).toContain('There is a project proj_mine already.')
  })

  test('create keeps the keys for --client-id, where only their owner reads them', async () => {
    await cli.svc('sandbox projects create proj_kept --set allowed_origins=http://localhost:*')
    const filled = await cli.svc('placements create --format banner --client-id proj_kept --expect fill')
    expect(filled, filled.stderr).toMatchObject({ code: 0, stderr: '' })
    expect((await cli.svc('placements create --live --client-id proj_kept')).code).toBe(0)
    expect((await cli.svc('api browser.activate', { env: { SVC_CLIENT_ID: 'proj_kept' } })).code).toBe(0)
    expect(statSync(join(cli.home, 'projects.json')).mode & 0o777).toBe(0o600)
    expect((await cli.svc('sandbox status')).stdout).toMatch(/^projects .*\bproj_kept\b/m)
    const elsewhere = await cli.svc('sandbox env --client-id proj_kept --base-url http://127.0.0.1:1 -o json')
    expect(JSON.parse(elsewhere.stdout)).not.toHaveProperty('SVC_SECRET_KEY')
  })

  test('an unknown project and an unknown key get different errors', async () => {
    await cli.svc('sandbox projects create proj_away')
    rmSync(join(cli.home, 'projects.json'))
    expect(await cli.svc('placements create --client-id proj_away')).toEqual({
      code: 4,
      stdout: '',
      stderr:
        'error: No key of proj_away is known here.\nhint: Give --secret-key KEY, or create one: svc sandbox keys create proj_away\n',
    })
    expect(await cli.svc('placements create --client-id proj_dmeo')).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${cli.sandbox.url} has no project proj_dmeo.\nhint: Did you mean proj_demo?\n`,
    })
    const far = await cli.svc('placements create --client-id proj_elsewhere')
    expect(far.stderr).toContain('hint: Create it: svc sandbox projects create proj_elsewhere. There are: proj_')
  })

  test('update changes what --set names, and show prints it', async () => {
    expect((await cli.svc('sandbox projects update proj_other --set viewability.ratio=0.6 --enabled false')).code).toBe(
      0,
    )
    const { stdout } = await cli.svc('sandbox projects show proj_other -o json')
    expect(JSON.parse(stdout)).toMatchObject({
      config_revision: 2,
      settings: { enabled: false, viewability: { ratio: 0.6 } },
    })
    const changed = await cli.svc('sandbox projects update proj_other --set viewability.ratio=0.7 --enabled false')
    expect(changed.stdout).toBe('Changed proj_other, revision 3:\n  viewability.ratio  0.7  (was 0.6)\n')
    const same = await cli.svc('sandbox projects update proj_other --enabled false')
    expect(same.stdout).toBe('Nothing changed: proj_other has these settings already, revision 3.\n')
    const wrong = await cli.svc('sandbox projects update proj_other --set viewability.ratio=6')
    expect([wrong.code, wrong.stdout]).toEqual([3, ''])
    expect(wrong.stderr).toContain('viewability.ratio')
  })
})

describe('svc keys', () => {
  test('create shows the key once, list shows its class, revoke ends it', async () => {
    const created = await cli.svc('sandbox keys create proj_strict --class secret --mode live -o json')
    const { key, key_id } = JSON.parse(created.stdout) as { key: string; key_id: string }
    expect(key).toMatch(/^sk_live_/)
    expect((await cli.svc('sandbox keys list proj_strict')).stdout).toBe(`\
key              class        mode  created                   revoked
${key_id}  secret       live  2026-01-31T12:00:00.000Z  -
key_00000000009  publishable  test  2026-01-31T12:00:00.000Z  -
key_00000000008  secret       live  2026-01-31T12:00:00.000Z  -
key_00000000007  secret       test  2026-01-31T12:00:00.000Z  -
`)
    const read = `api projects.config proj_strict --client-id proj_strict --secret-key ${key}`
    expect((await cli.svc(read)).code).toBe(0)
    expect((await cli.svc(`sandbox keys revoke ${key_id}`)).stdout).toContain('revoked at  2026-01-31T12:00:00.000Z')
    const refused = await cli.svc(read)
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('The key has been revoked.')
  })
})

describe('svc consent', () => {
  test('withdraw stores a withdrawal over v1, show prints the history', async () => {
    await cli.svc('api consent.set --session-id s9 --set purposes.semantic_targeting=true')
    const withdrawn = await cli.svc('api consent.set --decision withdrawn --session-id s9 -o json')
    expect(JSON.parse(withdrawn.stdout)).toMatchObject({
      authoritative_consent: { lifecycle_state: 'withdrawn', revision: 2 },
    })
    expect((await cli.svc('api consent.list --session-id s9')).stdout).toBe(`\
when                      session  revision  current  state      topic  prompt  source       strings
2026-01-31T12:00:00.000Z  s9              2  yes      withdrawn  no     no      svc_consent  -
2026-01-31T12:00:00.000Z  s9              1  no       granted    yes    no      svc_consent  -
`)
    const conflict = await cli.svc('api consent.set --decision withdrawn --session-id s9 --expected-revision 1')
    expect(conflict.stderr).toContain('consent_revision_conflict')
    expect(await cli.svc('api consent.set --decision withdrawn')).toEqual({
      code: 2,
      stdout: '',
      stderr: 'error: --session-id is missing.\nhint: Nothing was sent. Add --help to see what it takes.\n',
    })
    expect((await cli.svc('api consent.set --data {}')).code).toBe(3)
    expect((await cli.svc('api consent.set --decision withdrawn --session-id s10')).stdout).toBe(`\
The consent of s10 is withdrawn, revision 1.
Placements decided under an earlier consent are no longer shown or counted.
`)
  })
})
