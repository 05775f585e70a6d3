/** Journal rows that somebody wrote into the file of a database: it is edited here, so this runs on SQLite alone. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { edit, fill, folder, type Stage, stage } from '../stage.ts'

test('journal rows beyond the API are not imported, and one that is there is not sent again', async () => {
  using place = folder()
  const database = join(place.path, 'state.db')
  {
    await using on = await stage({ database })
    await fill(on.api)
    await on.api.send('POST', '/v2/placements', { body: {} })
  }
  const paths = [
    ...['/_sandbox/tokens', '/_sandbox/reset', '/%5fsandbox/tokens', '/_sandbox%2Ftokens', '//_sandbox/tokens'],
    ...['/x/../_sandbox/tokens', '/_sandbox/clock?mode=freeze', '/_sandbox', '/mcp', '/livez', '/readyz', '/'],
    ...['/%76%31/placements', 'ftp://elsewhere/', '_sandbox/tokens', '', '/assets/render.js', '/v1', '/%'],
  ]
  edit(database, (db) => {
    const row = db.prepare('SELECT * FROM exchange ORDER BY id LIMIT 1').get() as Record<string, unknown>
    const insert = db.prepare(`INSERT INTO exchange (${Object.keys(row)}) VALUES (${Object.keys(row).map(() => '?')})`)
    for (const [at, path] of paths.entries()) {
      const body = '{"name":"mine","role":"admin"}'
      insert.run(...Object.values({ ...row, id: Number(row.id) + at + 5, path, request_body: body }))
    }
  })
  const bytes = readFileSync(database)
  const before = async ({ api }: Stage) => [
    (await api.accept('tokens.list')).body.items.length,
    (await api.accept('clock.show')).body.frozen,
    (await api.accept('placements.list')).body.items.length,
  ]
  {
    // The same file as the database of a start, which reads what is there.
    await using on = await stage({ database })
    const state = await before(on)
    const answers = new Map<string, string>()
    for (const { path, request_id } of (await on.api.accept('requests.list', { query: { limit: 100 } })).body.items) {
      const sent = await on.api.send('POST', `/_sandbox/requests/${request_id}/replay`, { body: {} })
      answers.set(path, `${sent.status} ${(sent.body as { reason_code?: string }).reason_code ?? ''}`)
    }
    expect(paths.map((path) => [path, answers.get(path)])).toEqual(
      paths.map((path) => [path, path === '/%76%31/placements' ? '200 ' : '400 replay_incomplete']),
    )
    expect(answers.get('/v1/placements')).toBe('200 ')
    const [tokens, frozen, placements] = await before(on)
    expect([tokens, frozen, Number(placements) - 1]).toEqual(state)
  }
  await using on = await stage()
  const imported = await fetch(`${on.sandbox.url}/_sandbox/import`, {
    method: 'POST',
    headers: { 'content-type': 'application/gzip' },
    body: gzipSync(bytes),
  })
  expect(imported.status).toBe(200)
  const { items } = (await on.api.accept('requests.list', { query: { limit: 100 } })).body
  expect(items.map(({ path }) => path).toSorted()).toEqual(['/%76%31/placements', '/v1/placements', '/v2/placements'])
  expect((await on.api.accept('sandbox.info')).body.journal.size).toBe(3)
})
