/** svc init: what it asks, what it refuses, what it writes, and that it writes all or nothing. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { packageManager } from '#commands/setup/init.ts'
import { findNameProblem } from '#scaffold/location.ts'
import { planProject, writeProject } from '#scaffold/project.ts'
import { listTemplates, type Template } from '#scaffold/templates.ts'
import { root } from './process.ts'
import { type RunOptions, svc as runSvc, temporaryDirectory } from './test-cli.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const archive = `vendor/svc-sandbox-${version}.tgz`

let cwd: string
beforeEach(() => {
  cwd = temporaryDirectory()
})

function svc(args: string, options: RunOptions = {}) {
  return runSvc(args, { ...options, cwd: options.cwd ?? cwd, env: { SVC_HOME: join(cwd, '.home'), ...options.env } })
}

/** What it would do, as JSON, without packing the package. */
async function plan(args: string, options: RunOptions = {}) {
  const { code, stdout, stderr } = await svc(`${args} --dry-run -o json -q`, options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return JSON.parse(stdout) as { name: string; directory: string; next: string[] }
}

/** A package that can create each project itself, and has all that this one has. */
function expectComplete(path: string): void {
  execFileSync('tar', ['-xzf', path], { cwd })
  const packed = join(cwd, 'package')
  const templates = listTemplates(join(packed, 'templates'))
  const shown = ({ name, summary }: Template) => ({ name, summary })
  expect(templates.map(shown)).toEqual(listTemplates().map(shown))
  const pathsIn = (template: Template, root: string) =>
    planProject(template, 'again', root).files.map(({ path }) => path)
  for (const [index, template] of listTemplates().entries()) {
    expect(pathsIn(templates[index]!, packed), template.name).toEqual(pathsIn(template, root))
  }
  const files = globSync('{bin,dist,fixtures}/**/*', { cwd: packed, withFileTypes: true }).filter((f) => f.isFile())
  const ours = globSync('{bin,dist,fixtures}/**/*', { cwd: root, withFileTypes: true }).filter(
    (file) => file.isFile() && !/\/\.|\/fixtures\/make\//.test(join(file.parentPath, file.name).slice(root.length)),
  )
  expect(files.length).toBe(ours.length)
  for (const file of globSync('fixtures/creatives/*.*', { cwd: root })) {
    expect(readFileSync(join(packed, file)).equals(readFileSync(join(root, file))), file).toBe(true)
  }
}

function read(path: string): string {
  return readFileSync(join(cwd, path), 'utf8')
}

describe('svc init TEMPLATE DIR', () => {
  test('creates the project, with a complete copy of its own package, and prints JSON', async () => {
    const { code, stdout, stderr } = await svc('init agent-cli my-agent -o json -q')
    const { files, ...rest } = JSON.parse(stdout)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(rest).toEqual({
      template: 'agent-cli',
      name: 'my-agent',
      directory: join(cwd, 'my-agent'),
      package: { version, path: archive, has_types: existsSync(join(root, 'dist/types')) },
      package_manager: 'npm',
      needs: null,
      next: ['cd my-agent', 'npm install', 'npm test', 'npm run dev'],
      dry_run: false,
    })
    expect(readdirSync(cwd)).toEqual(['my-agent'])
    const there = readdirSync(join(cwd, 'my-agent'), { recursive: true, withFileTypes: true })
    expect(files).toHaveLength(there.filter((file) => file.isFile()).length)
    for (const file of files) expect(existsSync(join(cwd, 'my-agent', file)), file).toBe(true)
    expect(JSON.parse(read('my-agent/package.json'))).toMatchObject({
      name: 'my-agent',
      devDependencies: { 'svc-sandbox': `file:${archive}` },
    })
    expect(read('my-agent/.gitignore')).toContain('.env\n')
    expect(existsSync(join(cwd, 'my-agent/_gitignore'))).toBe(false)
    expect(read('my-agent/src/main.js')).toBe(readFileSync(join(root, 'templates/agent-cli/src/main.js'), 'utf8'))
    expectComplete(join(cwd, 'my-agent', archive))
  })

  test("of another language: what it needs, its own commands, the name of its module, and no vendor/, which is Go's", {
    tags: 'depth',
  }, async () => {
    const { stdout } = await svc('init go-server shop.server')
    expect(stdout.replace(/\d+ files/, 'N files').split('\n')).toEqual([
      'Created shop.server from go-server: N files.',
      `svc ${version} is not on a registry, so the project contains it: ${archive.replace('vendor', 'tools')}. Commit it too.`,
      'It needs Go 1.19 or later, and Node for svc.',
      '',
      'Next:',
      '  cd shop.server',
      '  npm install',
      '  npx --no svc-sandbox exec -- go test -count=1 ./...',
      '  npx --no svc-sandbox exec -- go run .',
      '',
    ])
    expect(read('shop.server/go.mod')).toBe('module example.com/shop.server\n\ngo 1.19\n')
    expect(existsSync(join(cwd, 'shop.server/vendor'))).toBe(false)
    const env = { npm_config_user_agent: 'pnpm/10.2.0 npm/?' }
    expect(await plan('init go-server other', { env })).toMatchObject({
      needs: 'Go 1.19 or later',
      package: { path: archive.replace('vendor', 'tools') },
      next: [
        'cd other',
        'pnpm install',
        'pnpm exec svc-sandbox exec -- go test -count=1 ./...',
        'pnpm exec svc-sandbox exec -- go run .',
      ],
    })
  })

  test('is svc init', async () => {
    const short = await svc('init agent-cli --yes --dry-run -o json')
    expect(await svc('init agent-cli --yes --dry-run -o json')).toEqual(short)
  })

  test('writes into a subdirectory, and into the current directory', async () => {
    expect(await plan('init agent-cli apps/my-agent')).toMatchObject({
      name: 'my-agent',
      directory: join(cwd, 'apps/my-agent'),
      next: ['cd apps/my-agent', 'npm install', 'npm test', 'npm run dev'],
    })
    const here = join(cwd, 'Here I Am')
    mkdirSync(here)
    expect(await plan('init agent-cli .', { cwd: here })).toMatchObject({
      name: 'here-i-am',
      directory: here,
      next: ['npm install', 'npm test', 'npm run dev'],
    })
  })

  test('--list describes every template in one line', async () => {
    const { code, stdout } = await svc('init --list')
    expect(code).toBe(0)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(/ {2,}/)[0]),
    ).toEqual(
      readdirSync(join(root, 'templates'))
        .filter((name) => name !== '_shared')
        .toSorted(),
    )
  })
})

describe('--dry-run', () => {
  test('prints what would be written, and writes nothing', async () => {
    const { code, stdout } = await svc('init agent-cli my-agent --dry-run')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Would write \d+ files from agent-cli to my-agent:\n {2}\.env\.example\n {2}\.gitignore\n/)
    expect(stdout).toContain(`  ${archive}\n`)
    expect(readdirSync(cwd)).toEqual([])
  })

  test('refuses what a real run refuses', async () => {
    mkdirSync(join(cwd, 'taken'))
    writeFileSync(join(cwd, 'taken/file'), '')
    expect((await svc('init agent-cli taken --dry-run')).code).toBe(2)
  })
})

describe('without a terminal', () => {
  test.each([
    [
      'init',
      'template_missing',
      'TEMPLATE is missing, and there is no terminal to ask for it.',
      'Try: svc init --list',
    ],
    [
      'init --yes',
      'template_missing',
      'TEMPLATE is missing, and there is no terminal to ask for it.',
      'Try: svc init --list',
    ],
    [
      'init agent-cli',
      'directory_missing',
      'DIR is missing, and there is no terminal to ask for it.',
      'Try: svc init agent-cli my-agent-cli',
    ],
  ])('svc %s: %s', async (args, error_code, message, hint) => {
    const { code, stdout, stderr } = await svc(`${args} -o json`)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(JSON.parse(stderr).error).toMatchObject({ category: 'usage', code: error_code, message, hint })
    expect(readdirSync(cwd)).toEqual([])
  })

  test('--yes gives the directory the name of the template', async () => {
    expect((await plan('init agent-cli --yes')).next[0]).toBe('cd agent-cli')
  })
})

describe('names', () => {
  test.each([
    ["'My Agent'", 'name can only contain URL-friendly characters', 'my-agent'],
    ['Agent', 'name cannot contain capital letters', 'agent'],
    ["'my agent'", 'name can only contain URL-friendly characters', 'my-agent'],
    ['käse', 'name can only contain URL-friendly characters', 'kase'],
    ['.agent', 'name cannot start with a period', 'agent'],
    ['_agent', 'name cannot start with an underscore', 'agent'],
    ['a~b', 'name cannot contain special characters ("~\'!()*")', 'a-b'],
    ['node_modules', 'node_modules is not a valid package name', 'my-agent-cli'],
    ['http', 'http is a core module name', 'my-agent-cli'],
    ['svc-sandbox', 'a project cannot depend on a package with its own name', 'my-agent-cli'],
    ['con', 'Windows reserves it for a device', 'my-agent-cli'],
    ['LPT1', 'Windows reserves it for a device', 'my-agent-cli'],
    ['nul.txt', 'Windows reserves it for a device', 'my-agent-cli'],
    ['a:b', 'Windows does not allow such a file name', 'a-b'],
    ['agent.', 'Windows does not allow such a file name', 'agent'],
    ['aux/agent', 'Windows reserves it for a device', 'my-agent-cli'],
    ['a'.repeat(215), 'name cannot contain more than 214 characters', 'a'.repeat(214)],
  ])('%s is refused, with a better one', async (dir, problem, better) => {
    const { code, stderr } = await svc(`init agent-cli ${dir}`)
    expect(code).toBe(2)
    expect(stderr).toContain(`: ${problem}.\nhint: Take another name, for example ${better}.\n`)
    expect(readdirSync(cwd)).toEqual([])
  })

  test('every better name is valid', () => {
    for (const name of ['my-agent', 'a', '0', 'a.b_c-d', 'x'.repeat(214)])
      expect(findNameProblem(name), name).toBeNull()
  })

  test.each(['../agent', '../../etc', '/etc/agent', 'a/../../agent', '..'])('%s leads outside', async (dir) => {
    const { code, stderr } = await svc(`init agent-cli ${dir}`)
    expect(code).toBe(2)
    expect(stderr).toContain(`error: ${dir} is outside the current directory, ${cwd}.\n`)
    expect(readdirSync(cwd)).toEqual([])
  })

  test('under npx it says how to call it from another directory', async () => {
    const { stderr } = await svc('init agent-cli ../agent', { env: { npm_lifecycle_event: 'npx' } })
    expect(stderr).toContain(
      `hint: Change into ${dirname(cwd)} first, and give only agent. There this command is: node ${root}/bin/svc.js init\n`,
    )
  })

  test('with the Node of a checkout it names that one, since the path may have an older one', async () => {
    const node = join(root, 'node_modules/node/bin/node')
    const system = { program: [node, join(root, 'bin/svc.js')] }
    const { stderr } = await svc('init agent-cli ../agent', { env: { npm_lifecycle_event: 'npx' }, system })
    expect(stderr).toContain(`There this command is: ${node} ${root}/bin/svc.js init\n`)
  })

  test('a misspelt template comes with the one that was meant', async () => {
    for (const [name, meant] of [
      ['node-servr', 'node-server'],
      ['vitest', 'vitest-suite'],
    ])
      expect((await svc(`init ${name} my-agent`)).stderr, name).toContain(
        `hint: Did you mean ${meant}? All of them: svc init --list\n`,
      )
  })

  test('a word that is near to no template is answered with all of them, as it may be a directory', async () => {
    for (const name of ['x', 'my', 'shop-frontend']) {
      const { code, stderr } = await svc(`init ${name}`)
      expect(code, name).toBe(2)
      expect(stderr, name).toBe(
        `error: There is no template "${name}".\nhint: Name one of ${listTemplates()
          .map((template) => template.name)
          .join(', ')} first, then the directory. svc init --list describes them.\n`,
      )
    }
  })

  test.each(['nothing-like-it', '../agent-cli', 'agent-cli/src', 'AGENT', '__proto__'])(
    'there is no template %s',
    async (name) => {
      const { code, stderr } = await svc(`init ${name} my-agent`)
      expect(code).toBe(2)
      expect(stderr).toContain(`error: There is no template "${name}".\n`)
      expect(stderr).toContain('agent-cli')
      expect(readdirSync(cwd)).toEqual([])
    },
  )
})

describe('a directory that exists', () => {
  beforeEach(() => {
    mkdirSync(join(cwd, 'taken/src'), { recursive: true })
    writeFileSync(join(cwd, 'taken/README.md'), 'mine')
    writeFileSync(join(cwd, 'taken/src/own.js'), 'mine too')
  })

  test('is refused when it is not empty, and does not change', async () => {
    const { code, stderr } = await svc('init agent-cli taken')
    expect(code).toBe(2)
    expect(stderr).toBe(
      'error: taken is not empty: README.md, src.\nhint: Choose another name, or add --overwrite: it replaces files of the same name and keeps all others.\n',
    )
    expect(readdirSync(join(cwd, 'taken'))).toEqual(['README.md', 'src'])
  })

  test('is accepted with --overwrite: files of the same name are replaced, all others stay', {
    tags: 'depth',
  }, async () => {
    const { code } = await svc('init agent-cli taken --overwrite')
    expect(code).toBe(0)
    expect(read('taken/README.md')).toContain('# A terminal agent')
    expect(read('taken/src/own.js')).toBe('mine too')
    expect(readdirSync(join(cwd, 'taken')).filter((name) => name.startsWith('.svc'))).toEqual([])
  })

  test('is accepted when it is empty, or a new repository', async () => {
    mkdirSync(join(cwd, 'empty/.git'), { recursive: true })
    expect((await plan('init agent-cli empty')).directory).toBe(join(cwd, 'empty'))
    await writeProject(join(cwd, 'empty'), [file('package.json')])
    expect(readdirSync(join(cwd, 'empty')).toSorted()).toEqual(['.git', 'package.json'])
  })

  test('is refused when it is a file, or leads through one', async () => {
    writeFileSync(join(cwd, 'file'), 'mine')
    expect((await svc('init agent-cli file --overwrite')).stderr).toContain('file exists and is not a directory.')
    expect((await svc('init agent-cli file/agent')).stderr).toContain('is a file, so it cannot contain a project.')
    expect(read('file')).toBe('mine')
  })

  test('that cannot be written is reported, and nothing is left', async () => {
    symlinkSync(join(cwd, 'nowhere'), join(cwd, 'link'))
    const { code, stderr } = await svc('init agent-cli link/agent')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^error: link\/agent cannot be written: E/)
    expect(readdirSync(cwd)).toEqual(['link', 'taken'])
  })

  test('is refused when a link or a folder is in the way of a file', async () => {
    mkdirSync(join(cwd, 'elsewhere'))
    symlinkSync(join(cwd, 'elsewhere'), join(cwd, 'taken/test'))
    expect((await svc('init agent-cli taken --overwrite')).stderr).toMatch(
      /^error: taken\/test is in the way of test\/\S+\.\n/,
    )
    rmSync(join(cwd, 'taken/test'))
    mkdirSync(join(cwd, 'taken/package.json'))
    expect((await svc('init agent-cli taken --overwrite')).stderr).toContain('taken/package.json is in the way')
    expect(readdirSync(join(cwd, 'elsewhere'))).toEqual([])
    expect(read('taken/README.md')).toBe('mine')
  })
})

const fresh = async (): Promise<Uint8Array> => Buffer.from('new')
const file = (path: string, read = fresh) => ({ path, mode: 0o644, read })

describe('a write that fails', () => {
  const failing = async (): Promise<Uint8Array> => {
    throw new Error('the disk is full')
  }

  test('leaves no directory, nor those above it', async () => {
    await expect(writeProject(join(cwd, 'a/b/c'), [file('one'), file('two', failing)])).rejects.toThrow('disk is full')
    expect(readdirSync(cwd)).toEqual([])
  })

  test('leaves a directory unchanged, also when it fails in the middle of the renames', async () => {
    writeFileSync(join(cwd, 'one'), 'old')
    const loses = async () => {
      const [aside] = globSync('.svc-init-*', { cwd })
      rmSync(join(cwd, aside!, 'new/two'))
      return Buffer.from('new')
    }
    await expect(writeProject(cwd, [file('one'), file('deep/er'), file('two'), file('three', loses)])).rejects.toThrow(
      'ENOENT',
    )
    expect(readdirSync(cwd)).toEqual(['one'])
    expect(read('one')).toBe('old')
  })
})

describe('package managers', () => {
  const agents = {
    npm: 'npm/11.19.1 node/v26.10.0 linux x64 workspaces/false',
    pnpm: 'pnpm/10.20.0 npm/? node/v26.10.0 linux x64',
    yarn: 'yarn/4.10.3 npm/? node/v26.10.0 linux x64',
    'yarn 1, which would compile what has its binaries': 'yarn/1.22.22 npm/? node/v26.10.0 linux x64',
    bun: 'bun/1.3.1 npm/? node/v24.3.0 linux x64',
  }
  test.each([
    ['npm', ['npm install', 'npm test', 'npm run dev']],
    ['pnpm', ['pnpm install', 'pnpm test', 'pnpm dev']],
    ['yarn', ['yarn install', 'yarn test', 'yarn dev']],
    ['yarn 1, which would compile what has its binaries', ['yarn install --ignore-scripts', 'yarn test', 'yarn dev']],
    ['bun', ['bun install', 'bun run test', 'bun run dev']],
  ] as const)('%s', async (manager, commands) => {
    const { next } = await plan('init agent-cli my-agent', { env: { npm_config_user_agent: agents[manager] } })
    expect(next).toEqual(['cd my-agent', ...commands])
  })

  test('an unknown one counts as npm', () => {
    expect(packageManager('cnpm/9.0.0 node/v26.10.0')).toBe('npm')
    expect(packageManager(undefined)).toBe('npm')
  })
})

describe('on a terminal', () => {
  const onATerminal = { isTerminal: true, system: { stdin_is_terminal: true }, env: { NO_COLOR: '1' } }

  test('asks for what is missing, and again after an invalid answer', async () => {
    const { code, stdout, stderr } = await svc('init --dry-run', { ...onATerminal, stdin: '99\nagent-cli\n../up\n\n' })
    expect(code).toBe(0)
    expect(stderr).toContain('  1  agent-cli ')
    expect(stderr).toContain('There is no template "99".')
    expect(stderr).toContain('../up is outside the current directory')
    expect(stderr).toContain('Directory [my-agent-cli]: ')
    expect(stdout).toContain('files from agent-cli to my-agent-cli:')
  })

  test('accepts a number', async () => {
    const { stdout } = await svc('init --dry-run', { ...onATerminal, stdin: '1\nmine\n' })
    expect(stdout).toContain('files from agent-cli to mine:')
  })

  test('does not ask for what was given, nor with --no-input', async () => {
    expect((await svc('init agent-cli mine --dry-run', onATerminal)).stderr).not.toContain('Directory')
    const { code, stderr } = await svc('init agent-cli --no-input', onATerminal)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('DIR is missing') })
  })

  test('an input that ends is an error', async () => {
    const { code, stderr } = await svc('init', { ...onATerminal, stdin: '' })
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining('The input ended before the answer.') })
    expect(readdirSync(cwd)).toEqual([])
  })
})
