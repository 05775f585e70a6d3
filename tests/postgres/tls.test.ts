/** A server with TLS, by each sslmode that the URL can have. */
import { chownSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { generate } from 'selfsigned'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startSandbox } from '#sandbox/index.ts'
import { connect } from '#tests/http/call.ts'
import { asked, key } from '#tests/http/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type PostgresServer, startPostgres } from './server.ts'

let server: PostgresServer
let authority: string

beforeAll(async () => {
  server = await startPostgres()
  authority = join(temporaryDirectory(), 'authority.pem')
  const { cert, private: privateKey } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  })
  writeFileSync(authority, cert)
  const [data = ''] = await ask('SHOW data_directory')
  const { uid, gid } = statSync(data)
  for (const [name, text] of [
    ['server.crt', cert],
    ['server.key', privateKey],
  ] as const) {
    writeFileSync(join(data, name), text, { mode: 0o600 })
    chownSync(join(data, name), uid, gid)
  }
  await ask('ALTER SYSTEM SET ssl = on')
  await ask('SELECT pg_reload_conf()')
})

afterAll(() => server.stop())

/** The first column of the rows. */
async function ask(sql: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    const { rows } = await client.query<string[]>({ text: sql, rowMode: 'array' })
    return rows.map(([value]) => String(value))
  } finally {
    await client.end()
  }
}

/** Serves a placement from the store, and returns which of its connections have TLS. */
async function serve(search: string): Promise<boolean[]> {
  await using sandbox = await startSandbox({ store: `${server.url}${search}`, demands_token: false })
  await connect(sandbox).accept('placements.create', { as: key, body: asked() })
  const of = "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'svc'"
  return [...new Set(await ask(`${of} GROUP BY ssl`))].map((value) => value === 'true')
}

/** The code of a start that is refused, and its words. */
async function refuse(search: string): Promise<string> {
  const starting = startSandbox({ store: `${server.url}${search}` })
  const error = await starting.then(
    (sandbox) => sandbox.close().then(() => null),
    (refused: unknown) => refused as { code: string; message: string; hint: string },
  )
  return `${error?.code}: ${error?.message} ${error?.hint}`
}

test.each([
  ['?sslmode=disable', false],
  ['?sslmode=prefer', true],
  ['?sslmode=require', true],
  ['?sslmode=verify-full&sslrootcert=', true],
])('a server that takes both: with %s its connections have TLS: %s', async (search, isEncrypted) => {
  expect(await serve(search.endsWith('=') ? `${search}${authority}` : search)).toEqual([isEncrypted])
})

test('a certificate that is not trusted is refused with verify-full, and named', async () => {
  expect(await refuse('?sslmode=verify-full')).toMatch(/^database_unreachable: .* over TLS: .*Set sslmode in the URL/)
})

test('a server that takes no TLS: prefer falls back, require is refused', async () => {
  const [hba = ''] = await ask('SHOW hba_file')
  const before = readFileSync(hba)
  writeFileSync(hba, 'hostnossl all all all scram-sha-256\n')
  await ask('SELECT pg_reload_conf()')
  try {
    expect(await serve('?sslmode=prefer')).toEqual([false])
    expect(await refuse('?sslmode=require')).toMatch(/pg_hba\.conf/)
  } finally {
    writeFileSync(hba, before)
    await ask('SELECT pg_reload_conf()')
  }
})

test('a server without TLS: prefer falls back, require is refused', async () => {
  await ask('ALTER SYSTEM SET ssl = off')
  await ask('SELECT pg_reload_conf()')
  expect(await serve('?sslmode=prefer')).toEqual([false])
  expect(await refuse('?sslmode=require')).toMatch(/^database_unreachable: .* over TLS: .*SSL/)
})
