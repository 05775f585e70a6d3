/** `svc-sandbox/testcontainers` beside the types of the real Testcontainers, and beside the images of deploy/. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { blocksOf } from '../docs/markdown.ts'
import { checkout, run } from '../templates/run.ts'
import { installTools } from './tools.ts'

let tools: string
let project: string

beforeAll(async () => {
  tools = await installTools(dirname(inject('tools')), {}, join(import.meta.dirname, 'testcontainers-tools.json'))
  await run(process.execPath, ['build/dist.ts', '--if-stale', '--types'], checkout)
  project = mkdtempSync(join(tmpdir(), 'testcontainers-'))
  symlinkSync(join(tools, 'node_modules'), join(project, 'node_modules'))
})

afterAll(() => rmSync(project, { recursive: true, force: true }))

/** Compiles files with the types of Testcontainers in place of the ones that the checkout declares. */
async function compile(include: string[]): Promise<string> {
  const settings = {
    extends: join(checkout, 'tsconfig.json'),
    compilerOptions: {
      typeRoots: [join(tools, 'node_modules/@types')],
      skipLibCheck: true,
      paths: {
        testcontainers: [join(tools, 'node_modules/testcontainers')],
        vitest: [join(checkout, 'node_modules/vitest')],
        'svc-sandbox/testcontainers': [join(checkout, 'dist/types/src/judge/testing/testcontainers.d.ts')],
      },
    },
    include,
    exclude: [],
  }
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings))
  const compiler = join(checkout, 'node_modules/typescript/bin/tsc')
  return run(process.execPath, [compiler, '-p', project, '--pretty', 'false'], checkout)
}

test('its source fits the real types, and a test that uses it too', async () => {
  await compile([join(checkout, 'src/judge/testing/testcontainers.ts')])
  mkdirSync(join(project, 'tests'))
  const use = (line: string) => `
import { Network } from 'testcontainers'
import { SandboxContainer, type StartedSandboxContainer } from 'svc-sandbox/testcontainers'

const network = await new Network().start()
const sandbox: StartedSandboxContainer = await new SandboxContainer('svc-sandbox')
  .withSeed(1)
  .withScenario('no_fill')
  .withNetwork(network)
  .withStartupTimeout(5_000)
  .start()
${line}
console.log(sandbox.keys.client_id, sandbox.getMappedPort(4010), (await sandbox.client().placements.list()).items.length)
await sandbox.stop({ remove: true })
`
  writeFileSync(join(project, 'tests/use.ts'), use(''))
  await compile(['tests'])
  writeFileSync(
    join(project, 'tests/use.ts'),
    use("sandbox.client().placements.create({ body: { job_type: 'song' } })"),
  )
  await expect(compile(['tests'])).rejects.toThrow('song')
})

test('the test of the guide has no type errors', async () => {
  const guide = blocksOf('docs/guides/containers.md').find(({ flags }) => flags.file === 'container.test.ts')!
  mkdirSync(join(project, 'guide'))
  writeFileSync(join(project, 'guide/container.test.ts'), guide.text)
  await compile(['guide'])
})

test('the lines of the guide for other languages have the settings that containers.test.ts starts one with', () => {
  const settings = [
    /"start"?,? "?--host"?,? "?0\.0\.0\.0"?,? "?--ephemeral"/,
    /"SVC_ALLOW_KNOWN_KEYS"(, |: )"1"/,
    /_sandbox\/readyz|admin token/,
    /4010/,
  ]
  const lines = blocksOf('docs/guides/containers.md').filter(({ text }) => text.includes('SVC_ALLOW_KNOWN_KEYS"'))
  expect(lines.map(({ language }) => language)).toEqual(['java', 'go', 'python'])
  for (const { text } of lines) for (const setting of settings) expect(text).toMatch(setting)
})

test.each(['Containerfile', 'sandbox.Containerfile'])(
  'deploy/%s has the entry point and the port that it uses',
  (name) => {
    const last = readFileSync(join(checkout, 'deploy', name), 'utf8')
      .split(/^FROM /m)
      .at(-1)!
    expect(last).toMatch(/^ENTRYPOINT \[.*"(\/app\/)?node_modules\/\.bin\/svc(-sandbox)?"\]$/m)
    expect(last).toMatch(/^EXPOSE 4010$/m)
    expect(last).toMatch(/^HEALTHCHECK .*\n?.*(readyz|"sandbox", "status")/m)
  },
)
