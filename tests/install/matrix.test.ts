/**
 * The packed package under each installer and each Node that it supports. Each installer and each Node comes once;
 * `INSTALL_MATRIX=full` tries all pairs. Types depend on the layout that an installer makes: they are tried once for each.
 */
import { execFile } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { installTools } from '../interop/tools.ts'
import { temporaryDirectory } from '../temporary.ts'
import { type Ended, type Program, placesEachFormat, runsCommands, svc } from './program.ts'

/** The installers, old Nodes and examiners of the `package.json` beside this file; other files need not wait for them. */
const tools = join(
  await installTools(inject('system_tmp'), {}, join(import.meta.dirname, 'package.json'), 'test:templates'),
  'node_modules',
)
const archive = inject('archive')
const checkout = join(import.meta.dirname, '../..')
const { version, exports } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
  version: string
  exports: Record<string, unknown>
}

const nodes = {
  '22.19': join(tools, 'node22/bin/node'),
  '24': join(tools, 'node24/bin/node'),
  '26': process.execPath,
}
type Node = keyof typeof nodes

/** Each installs what it is given into a project, in a layout, and has its way to run the command. */
const installers = {
  npm: {
    layout: 'folders',
    add: ['npm', 'install', '--prefer-offline', '--no-audit', '--no-fund'],
    command: ['node_modules/.bin/svc-sandbox'],
  },
  pnpm: {
    layout: 'links',
    add: [process.execPath, join(tools, 'pnpm/bin/pnpm.mjs'), 'add'],
    command: ['node_modules/.bin/svc'],
  },
  yarn: {
    layout: 'folders',
    add: [process.execPath, join(tools, '@yarnpkg/cli-dist/bin/yarn.js'), 'add'],
    command: ['node_modules/.bin/svc'],
  },
  'yarn with pnp': {
    layout: 'archives',
    add: [process.execPath, join(tools, '@yarnpkg/cli-dist/bin/yarn.js'), 'add'],
    command: ['node', join(tools, '@yarnpkg/cli-dist/bin/yarn.js'), 'svc-sandbox'],
  },
  bun: {
    layout: 'folders',
    add: [join(tools, `@oven/bun-${process.platform}-${process.arch}/bin/bun`), 'add'],
    command: ['node_modules/.bin/svc'],
  },
} as const
type Installer = keyof typeof installers

const once: [Installer, Node][] = [
  ['npm', '22.19'],
  ['pnpm', '24'],
  ['yarn', '26'],
  ['yarn with pnp', '24'],
  ['bun', '22.19'],
]
const all = Object.keys(installers).flatMap((installer) =>
  Object.keys(nodes).map((node): [Installer, Node] => [installer as Installer, node as Node]),
)
const isFull = process.env.INSTALL_MATRIX === 'full'
const pairs = isFull ? all : once

/** The hint where no sandbox runs, or only someone else's. */
function namesStart(command: string): RegExp {
  return new RegExp(`[Ss]tart (?:one|your own): ${command}\\b`)
}

/** Whether no pair before this one has the layout of its installer. */
function isFirst(installer: Installer): boolean {
  const same = pairs.find((pair) => installers[pair[0]].layout === installers[installer].layout)
  return isFull || same?.[0] === installer
}

describe.concurrent.each(pairs)('installed by %s, on Node %s', (installer, node) => {
  const hasTypes = installer !== 'yarn with pnp' && isFirst(installer)
  const types = hasTypes ? ', with its types' : ''
  test(`starts, places, counts, runs commands and suites, also in the process of its user${types}`, async () => {
    const { project, env } = await (installer === 'npm' && node === '22.19' ? shared() : install(installer))
    const path = `${dirname(nodes[node])}:/usr/bin:/bin`
    const program: Program = { command: installers[installer].command, cwd: project, env: { ...env, PATH: path } }
    await placesEachFormat(program)
    await runsCommands(program, version)
    const hint = installer === 'yarn with pnp' ? 'yarn svc-sandbox start' : 'svc start'
    expect((await svc(program, ['placements', 'list'])).output).toMatch(namesStart(hint))

    writeFileSync(join(project, 'own.mjs'), own)
    const inProcess =
      installer === 'yarn with pnp' ? [...program.command.slice(0, 2), 'node', 'own.mjs'] : ['node', 'own.mjs']
    const { output } = await run(inProcess, project, program.env)
    expect(output).toBe('banner OK 404\n')

    if (!hasTypes) return
    writeFileSync(join(project, 'own.ts'), own)
    for (const moduleResolution of ['node16', 'bundler']) {
      const module = moduleResolution === 'bundler' ? 'esnext' : moduleResolution
      const compilerOptions = {
        module,
        moduleResolution,
        target: 'es2022',
        lib: ['es2022', 'esnext.disposable', 'dom'],
        strict: true,
        noEmit: true,
        // Several would each compute the types of libraries anew.
        checkers: 1,
        // declarations.test.ts checks the declarations themselves: here it is whether they are found, at a ninth of the time.
        skipLibCheck: true,
        types: ['node'],
      }
      writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['own.ts'] }))
      const checked = await run([process.execPath, join(tools, 'typescript/bin/tsc'), '-p', '.'], project, env)
      expect(checked).toEqual({ code: 0, output: '' })
    }
  })
})

/** JavaScript and TypeScript alike. */
const own = `
import { createClient } from 'svc-sandbox/client'
import { formats, PlacementResponse } from 'svc-sandbox/contract'
import { manualClock, startSandbox } from 'svc-sandbox/sandbox'

const clock = manualClock()
const sandbox = await startSandbox({ port: 0, seed: 1, clock })
const client = createClient({ base_url: sandbox.url, credential: sandbox.keys.secret_key })
const body = { client_id: 'proj_demo', session_id: 'own', overrides: { allowed_formats: [formats[0]] } }
const { decision, placement } = PlacementResponse.parse(await client.placements.create({ body: { ...body, job_type: 'chat' } }))
if (decision === null || !decision.fill || placement === null) throw new Error('not filled')
const beacon = { beacon_id: 'own-beacon-1', asset_token: decision.asset_token }
const sent = await client.sendBeacon({ ...beacon, event: 'render', occurred_at_ms: clock.now() })
clock.advance(301_000)
const frame = await fetch(placement.render.frame_url)
console.log(decision.format, sent.reason_code, frame.status)
await sandbox.close()
`

test.each(Object.keys(exports).filter((name) => name !== './package.json'))(
  '%s on Node 20 works, or refuses with a sentence',
  async (name) => {
    const { project, env } = await shared()
    const module = `svc-sandbox/${name.slice(2)}`
    const script = `import(${JSON.stringify(module)}).then((all) => console.log(Object.keys(all).length > 5), (error) => console.log(error.message))`
    const { code, output } = await run([join(tools, 'node20/bin/node'), '-e', script], project, env)
    expect(code, output).toBe(0)
    if (['./client', './contract'].includes(name)) expect(output).toBe('true\n')
    else
      expect(output).toMatch(
        /^svc-sandbox needs Node 22\.19 or later; this is Node 20\.[\d.]+\. Install a current Node|^Cannot find package '(vitest|@playwright\/test|testcontainers)'/,
      )
  },
)

test('the command on Node 20 refuses with a sentence', async () => {
  const { project, env } = await shared()
  const PATH = `${join(tools, 'node20/bin')}:/usr/bin:/bin`
  const { code, output } = await run(['node_modules/.bin/svc', 'start'], project, { ...env, PATH })
  expect(output).toMatch(
    /^svc needs Node 22\.19 or later; this is Node 20\.[\d.]+\.\nInstall a current Node from \S+, or with .+\n$/,
  )
  expect(code).toBe(1)
})

test('the command runs on Bun too, and names what Bun has', async () => {
  const { project, env } = await shared()
  const bun = installers.bun.add[0]
  const program: Program = { command: [bun, 'x', '--bun', 'svc-sandbox'], cwd: project, env }
  // The database of the first pair is in the same project.
  for (const file of globSync('sandbox.db*', { cwd: project })) rmSync(join(project, file), { recursive: true })
  await placesEachFormat(program)
  const { output } = await svc(program, ['placements', 'list'])
  expect(output).toMatch(namesStart('bunx --no-install svc-sandbox start'))
})

test('publint and are-the-types-wrong find nothing', async () => {
  const project = temporaryDirectory()
  const env = environment(project)
  const lint = await run(
    [process.execPath, join(tools, 'publint/src/cli.js'), 'run', archive, '--pack=false', '--strict'],
    project,
    env,
  )
  expect(lint.output).toContain('All good!')
  const words = [archive, '--profile', 'esm-only', '--format', 'json']
  const types = await run(
    [process.execPath, join(tools, '@arethetypeswrong/cli/dist/index.js'), ...words],
    project,
    env,
  )
  const { analysis } = JSON.parse(types.output) as {
    analysis: { problems: { resolutionKind?: string }[]; entrypoints: object }
  }
  expect(Object.keys(analysis.entrypoints)).toEqual(expect.arrayContaining(Object.keys(exports)))
  const seen = analysis.problems.filter(({ resolutionKind = '' }) => !['node10', 'node16-cjs'].includes(resolutionKind))
  expect(seen).toEqual([])
  expect(types.code).toBe(0)
})

interface Installed {
  project: string
  env: Record<string, string>
}

let first: Promise<Installed> | undefined
/** The install of the first pair, which tests that only import use too. */
const shared = () => (first ??= install('npm'))

async function install(installer: Installer): Promise<Installed> {
  const directory = temporaryDirectory()
  const project = join(directory, 'project')
  mkdirSync(project)
  writeFileSync(join(project, 'package.json'), JSON.stringify({ name: 'project', private: true, type: 'module' }))
  if (installer.startsWith('yarn')) {
    const linker = installer === 'yarn' ? 'node-modules' : 'pnp'
    writeFileSync(join(project, '.yarnrc.yml'), `nodeLinker: ${linker}\nenableTelemetry: false\n`)
    writeFileSync(join(project, 'yarn.lock'), '')
  }
  const env = environment(directory)
  const added = [...installers[installer].add, `svc-sandbox@file:${archive}`, '@types/node@26']
  const { code, output } = await run(added, project, env)
  expect(code, output).toBe(0)
  // No script of a dependency waits for an approval.
  expect(output).not.toMatch(/approve|allow-?scripts|ignored build scripts|blocked \d+ postinstall/i)
  return { project, env }
}

/** A home of its own, so that nothing is found that an earlier install has left; the registry of this machine. */
function environment(home: string): Record<string, string> {
  const kept = Object.entries(process.env).filter(([name]) =>
    /^npm_config_(registry|cafile)$|^(https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE)$/i.test(name),
  ) as [string, string][]
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`
  // Node and yarn bring certificates of their own; a registry inside a network may have one that only the system knows.
  const system = '/etc/ssl/certs/ca-certificates.crt'
  if (process.env.NODE_EXTRA_CA_CERTS === undefined && existsSync(system)) kept.push(['NODE_EXTRA_CA_CERTS', system])
  return { ...Object.fromEntries(kept), PATH, HOME: home, TMPDIR: home, NO_COLOR: '1', CI: '1' }
}

function run(command: readonly string[], cwd: string, env: Readonly<Record<string, string>>): Promise<Ended> {
  const [file = '', ...args] = command
  return new Promise((resolve) => {
    execFile(file, args, { cwd, env, timeout: 120_000, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, output: stdout + stderr })
    })
  })
}
