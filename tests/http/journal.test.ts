/** What the journal never keeps, and what a failure of it never costs. */
import { expect, test } from 'vitest'
import { asked, fill, key, stage } from './stage.ts'

const base64 = (text: string) => Buffer.from(text).toString('base64')

test('a key or token in base64, in any header and in the path, is not in the journal', async () => {
  await using on = await stage()
  const { asset_token } = await fill(on.api, { format: 'banner' })
  const secrets = ['sk_live_sandbox_demo', 'pk_test_sandbox_demo', `sbx_${'Ab3_'.repeat(8)}`, asset_token]
  for (const secret of secrets) {
    const encodings = ['', 'a', 'user:', 'ab'].flatMap((before) => {
      const encoded = base64(before + secret)
      return [encoded, Buffer.from(before + secret).toString('base64url'), base64(encoded), `x${encoded}`]
    })
    for (const encoded of encodings) {
      const headers = {
        'x-upstream-auth': `Basic,${encoded}`,
        'x-key': encodeURIComponent(encoded),
        'x-list': ['plain', encoded],
        authorization: `Basic ${encoded}`,
        'user-agent': `agent/${encoded}`,
      }
      await on.api.send('POST', `/v1/unknown/${encodeURIComponent(encoded)}`, { headers, body: asked() })
      const [found] = (await on.api.accept('requests.list', { query: { limit: 1 } })).body.items
      const stored = await on.api.accept('requests.show', { params: { request_id: found!.request_id } })
      const core = encoded.replace(/=+$/, '')
      expect(found!.path.startsWith('/v1/unknown')).toBe(true)
      expect(stored.text.includes(core), `${secret} as ${encoded}`).toBe(false)
      expect(stored.text).toContain('plain')
    }
  }
})

test('base64 of anything else stays', async () => {
  await using on = await stage()
  const encoded = base64('{"trace":"0123456789","sampled":true}')
  await on.api.accept('placements.create', { as: key, headers: { 'x-trace': encoded }, body: asked() })
  const [found] = (await on.api.accept('requests.list', { query: { limit: 1 } })).body.items
  const stored = await on.api.accept('requests.show', { params: { request_id: found!.request_id } })
  expect(stored.text).toContain(encoded)
})
