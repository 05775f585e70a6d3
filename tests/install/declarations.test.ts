/**
 * The types of the package in a project of its own, with those of its libraries checked too: TypeScript takes ten seconds of
 * processor time for each way to resolve modules.
 */
import { spawnSync } from 'node:child_process'
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { checkout, unpack } from '../package/unpack.ts'

let project: string

beforeAll(() => {
  ;({ project } = unpack(inject('archive')))
  copyFileSync(join(checkout, 'tests/package/placement.test.ts.txt'), join(project, 'placement.test.ts'))
  writeFileSync(join(project, 'wrong.ts'), wrong)
})

test.each([
  { module: 'nodenext', moduleResolution: 'nodenext' },
  { module: 'esnext', moduleResolution: 'bundler' },
])('its declarations fit with moduleResolution $moduleResolution', (resolution) => {
  const compilerOptions = {
    ...resolution,
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'dom'],
    types: ['node'],
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    checkers: 1,
    skipLibCheck: false,
    noEmit: true,
  }
  const config = join(project, `tsconfig.${resolution.moduleResolution}.json`)
  writeFileSync(config, JSON.stringify({ compilerOptions, files: ['placement.test.ts', 'wrong.ts'] }))
  const tsc = join(project, 'node_modules/typescript/bin/tsc')
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', config], { encoding: 'utf8' })
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
})

/** Each way to resolve modules, with what declares the platform there: nothing, or the DOM without Node. */
test.each([
  { module: 'node16', files: ['app.mts'], lib: ['es2023'] },
  { module: 'nodenext', files: ['app.mts', 'app.cts'], lib: ['es2023'] },
  { module: 'preserve', moduleResolution: 'bundler', files: ['app.mts', 'app.cts'], lib: ['es2023', 'dom'] },
  { module: 'esnext', moduleResolution: 'bundler', files: ['app.mts'], lib: ['es2023'], customConditions: ['browser'] },
])('the client and the contract need no types of the platform: %o', ({ files, ...resolution }) => {
  for (const file of files) writeFileSync(join(project, file), app)
  const always = { target: 'es2022', types: [], strict: true, exactOptionalPropertyTypes: true, checkers: 1 }
  const compilerOptions = { ...always, ...resolution, skipLibCheck: false, noEmit: true }
  const config = join(project, 'tsconfig.platform.json')
  writeFileSync(config, JSON.stringify({ compilerOptions, files }))
  const tsc = join(project, 'node_modules/typescript/bin/tsc')
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', config], { encoding: 'utf8' })
  expect({ status, output: stdout + stderr }).toEqual({ status: 0, output: '' })
})

/** Names each type that the platform may lack: signals, files, and the addresses of zod. */
const app = `import { createClient, ServiceError } from 'svc-sandbox/client'
import { PlacementRequest } from 'svc-sandbox/contract'

const client = createClient({ base_url: 'http://127.0.0.1:4010', credential: 'sk_test_sandbox_demo', timeout_ms: 3_000 })
export async function place(session_id: string, signal?: AbortSignal) {
  const body = PlacementRequest.parse({ client_id: 'proj_demo', session_id, job_type: 'chat' })
  try {
    return await client.placements.create({ body }, signal === undefined ? {} : { signal })
  } catch (error) {
    if (error instanceof ServiceError) return null
    throw error
  }
}
// @ts-expect-error: there is no such job type
void client.createJob({ client_id: 'proj_demo', session_id: 's', job_type: 'song' })
`

/** Would compile without its expectations if the declarations were lost, since everything would be `any`. */
const wrong = `import { createClient } from 'svc-sandbox/client'
import { limits, PlacementRequest } from 'svc-sandbox/contract'
import { startSandbox } from 'svc-sandbox/sandbox'

const request: PlacementRequest = PlacementRequest.parse({})
// @ts-expect-error: a job type is none of the formats
request.job_type = 'banner'
// @ts-expect-error: a limit is a number
limits.body_bytes.length
// @ts-expect-error: there is no such option
await startSandbox({ no_such_option: true })
const client = createClient({ base_url: '', credential: '' })
// @ts-expect-error: there is no such job type
await client.jobs.create({ body: { client_id: 'proj_demo', job_type: 'song' } })
const { decision } = await client.decisions.get({ params: { slot_id: '' } })
// @ts-expect-error: a no-fill has no price
decision?.revenue_estimate.gross_cpm
const silent = createClient({ base_url: '', onError: (error, method) => console.log(error.message, method) })
// @ts-expect-error: it may be null
void (await silent.createJob({ client_id: 'proj_demo' })).job_id
`
