/**
 * The documentation is complete and leads nowhere wrong: every command, flag, setting, variable and code is explained, every
 * link and anchor exists, and every command that the text names exists.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { Option } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { groupNames, handwrittenPart, writeGroup } from '#build/docs/codes.ts'
import { commandPages, commandsMarkdown } from '#build/docs/commands.ts'
import { readPages, toAnchor } from '#build/docs/pages.ts'
import { commonOptions } from '#cli/run/common-options.ts'
import { type CommandNode, commandTree } from '#cli/run/help.ts'
import { describeRenamed } from '#cli/run/renamed-commands.ts'
import { startFlags } from '#cli/settings/start-options.ts'
import { settingNames, settingsTable } from '#cli/settings/table.ts'
import { acceptMeanings, reasonCodes } from '#contract/error-codes.ts'
import { noFillReasons } from '#contract/no-fill.ts'
import { observeRules } from '#diagnosis/rules/index.ts'
import { commands } from '#src/program.ts'
import { root } from '#tests/cli/process.ts'
import { listEdits } from '#tests/mutations/edits.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { blocksOf, docFiles, linkedFiles, textOf } from './markdown.ts'

/** The text without its code blocks. */
const proseOf = (file: string) => textOf(file).replace(/^```.*?^```$/gms, '')

describe('links', () => {
  const anchors = new Map<string, Set<string>>()
  const listAnchors = (file: string) => {
    const known =
      anchors.get(file) ?? new Set([...textOf(file).matchAll(/^#+ (.+)$/gm)].map(([, text]) => toAnchor(text!)))
    anchors.set(file, known)
    return known
  }

  test.each(linkedFiles)('of %s lead somewhere', (file) => {
    const dead = [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, href = '']) => {
      if (/^(https?:|\/_sandbox\/)/.test(href)) return []
      const [path = '', anchor] = href.split('#')
      const target = path === '' ? file : normalize(join(dirname(file), path))
      if (!existsSync(join(root, target))) return [href]
      const isDead = anchor !== undefined && target.endsWith('.md') && !listAnchors(target).has(anchor)
      return isDead ? [href] : []
    })
    expect(dead).toEqual([])
  })

  test('every page is in the table of contents, and its title is that of its link', () => {
    const pages = readPages()
    const files = globSync('docs/**/*.md', {
      cwd: root,
      exclude: ['docs/decisions/**', 'docs/{architecture,changelog}.md'],
    })
    expect(docFiles.filter((file) => file !== 'README.md').toSorted()).toEqual(files.toSorted())
    const topics = pages.map(({ topic }) => topic)
    expect(new Set(topics).size).toBe(topics.length)
    for (const { title, summary } of pages) expect([title !== '', summary !== ''], title).toEqual([true, true])
  })

  test('npm scripts that the text names exist', () => {
    const { scripts } = JSON.parse(textOf('package.json')) as { scripts: Record<string, string> }
    for (const file of docFiles) {
      for (const [, name] of textOf(file).matchAll(/npm run ([\w:-]+)/g))
        expect(Object.keys(scripts), file).toContain(name)
    }
  })
})

describe('commands', () => {
  let tree: readonly CommandNode[]
  beforeAll(async () => {
    tree = await commandTree(commands)
  })

  test('the pages of commands link no example address', async () => {
    for (const { name, markdown } of await commandPages())
      expect(markdown.replace(/```[\s\S]*?```|`[^`]*`/g, ''), name).not.toMatch(/https?:/)
  })

  test('docs/commands.md has every command, and the page of its name every flag: npm run docs', async () => {
    const text = textOf('docs/commands.md')
    expect(text === (await commandsMarkdown())).toBe(true)
    const pages = new Map((await commandPages()).map(({ name, markdown }) => [name, markdown]))
    for (const { path, node } of leaves(tree)) {
      expect(text).toContain(`\n| \`svc ${path}\` |`)
      const own = pages.get(path.split(' ')[0]!)!
      expect(own).toMatch(new RegExp(`^##? svc ${path}$`, 'm'))
      const [, earlier] = new RegExp(`^##? svc ${path}\n\nThe same as .*/commands/([\\w-]+)\\)`, 'm').exec(own) ?? []
      const page = earlier === undefined ? own : pages.get(earlier)
      for (const { flags } of node.options ?? [])
        expect(page, path).toContain(`| \`${flags.replaceAll('|', '\\|')}\` |`)
    }
    for (const { flags } of commonOptions()) expect(text).toContain(`| \`${flags.replaceAll('|', '\\|')}\` |`)
  })

  test.each(docFiles)('every command that %s names exists, with its flags', (file) => {
    const named = [
      ...[...proseOf(file).matchAll(/`(?:npx )?(svc [a-z][^`]*)`/g)].map(([, command]) => command!),
      ...blocksOf(file).flatMap(({ language, text }) =>
        [...text.matchAll(language === 'sh' ? /^(?:npx )?(svc [a-z][^|>\n]*)/gm : /^\$ (svc [^|>\n]*)/gm)].map(
          ([, command]) => command!,
        ),
      ),
    ]
    expect(named.flatMap((command) => findProblem(command, tree) ?? [])).toEqual([])
  })

  test('no text of the repository names a command by its earlier name', () => {
    const stated = [
      'docs/commands.md',
      'docs/decisions/**',
      'src/cli/run/renamed-commands.ts',
      'tests/cli/earlier-names.*',
      'tests/docs/complete.test.ts',
    ]
    const files = globSync(
      '{*.{md,yml,json},{bench,build,deploy,docs,fixtures,sandbox,src,templates,tests,.github}/**/*.{md,ts,tsx,js,mjs,json,yml,yaml,py,go,java,php,rb,sh,txt}}',
      { cwd: root, exclude: [...stated, '**/node_modules/**'] },
    )
    expect(files.length).toBeGreaterThan(1500)
    const found = files.flatMap((file) => earlierNamesIn(textOf(file)).map((name) => `${file}: ${name}`))
    expect(found).toEqual([])
    expect(earlierNamesIn('Start: svc sandbox start. Or `npx svc-sandbox qa observe -- npm test`')).toEqual([
      'svc sandbox start is now svc start',
      'svc qa observe is now svc observe',
    ])
  })

  test('a command and a flag that do not exist are noticed', () => {
    expect(findProblem('svc placements crate', tree)).toBe('svc placements crate')
    expect(findProblem('svc placements create --formats banner', tree)).toBe('svc placements create --formats')
    expect(findProblem('svc placements create --format banner', tree)).toBeNull()
  })
})

/** Returns what a command line names and there is not; null when it names only what there is. */
function findProblem(command: string, tree: readonly CommandNode[]): string | null {
  const words = command
    .replace(/(^|\s)#.*$/, '')
    .split(' -- ')[0]!
    .split(/\s+/)
    .slice(1)
  if (words[0] === 'help' || words[0]?.startsWith('-')) return null
  let nodes: readonly CommandNode[] | undefined = tree
  let node: CommandNode | undefined
  const path = ['svc']
  while (nodes !== undefined && words.length > 0 && !/^[A-Z.-]/.test(words[0]!)) {
    path.push(words.shift()!)
    const [names = ''] = path.slice(-1)
    node = nodes.find(({ name }) => name === names.replace(/[.,:;]$/, ''))
    if (node === undefined) return path.join(' ')
    nodes = node.commands
  }
  const own = [...(node?.options ?? []), ...commonOptions()].flatMap(({ flags }) => {
    const { long, short } = new Option(flags)
    return [long, short]
  })
  const known = new Set([...own, '--help', '-h', '--overwrite', '--force', '--no-color'])
  if (nodes !== undefined) return null
  const wrong = words.map((word) => word.split('=')[0]!).find((word) => /^--?[a-z]/.test(word) && !known.has(word))
  return wrong === undefined ? null : `${path.join(' ')} ${wrong}`
}

/** What stands for the program in texts, templates and strings of code. */
const program = /(?:\bsvc|\bsvc-sandbox|\{\{svc\}\}|\$\{command_name\}) ((?:[a-z][a-z-]*\b ?){1,3})/g

/** Returns the commands that a text names by their earlier name, with the present one. */
function earlierNamesIn(text: string): string[] {
  return [...text.matchAll(program)].flatMap(([, words = '']) => {
    const named = words.trim().split(' ')
    const isPresent = named[0] === 'bundle' && ['create', 'import', 'list'].includes(named[1] ?? '')
    return isPresent ? [] : (describeRenamed(named) ?? [])
  })
}

function leaves(nodes: readonly CommandNode[], path: readonly string[] = []): { path: string; node: CommandNode }[] {
  return nodes.flatMap((node) => {
    const words = [...path, node.name]
    if (node.isHidden) return []
    return node.commands === undefined ? [{ path: words.join(' '), node }] : leaves(node.commands, words)
  })
}

describe('recipes', () => {
  const recipes = [
    'action.yml',
    ...globSync('deploy/**/*', { cwd: root }).filter((file) => /file$|\.(sh|ya?ml|json)$/.test(file)),
  ]
  const texts = () => [
    ...recipes.map((file) => [file, textOf(file)] as const),
    ...docFiles.flatMap((file) =>
      blocksOf(file).flatMap(({ language, text }) =>
        ['yaml', 'dockerfile'].includes(language) ? [[file, text] as const] : [],
      ),
    ),
  ]

  test('call commands and flags that exist', async () => {
    const tree = await commandTree(commands)
    const called = texts().flatMap(([file, text]) => {
      const plain = text.replace(/^\s*#.*$/gm, '').replace(/", "/g, ' ')
      return [
        ...plain.matchAll(/(?:\bnpx --no svc-sandbox|(?<![-\w.]|FROM )svc-sandbox(?![-\w.:@/*]))( [a-z][^|>\n"]*)/g),
      ].map(([, words = '']) => [file, `svc${words.replace(/\$\{SEED.*$/, '').replace(/"$/, '')}`] as const)
    })
    expect(called.length).toBeGreaterThan(10)
    expect(called.flatMap(([file, command]) => findProblem(command, tree)?.concat(` in ${file}`) ?? [])).toEqual([])
  })

  test('set variables that exist', () => {
    const settings = textOf('docs/guides/settings.md')
    for (const [file, text] of texts())
      for (const [name] of text.matchAll(/\bSVC_[A-Z_]*[A-Z]\b/g)) expect(settings, `${file}: ${name}`).toContain(name)
  })

  test.each([
    ['action.yml', (text: string) => (parse(text) as { runs: { steps: { run: string }[] } }).runs.steps[0]!.run],
    ['deploy/devcontainer/src/svc-sandbox/install.sh', (text: string) => text],
  ])('%s installs nothing from a registry: it takes the packed file, and refuses a name', (file, readScript) => {
    const folder = temporaryDirectory()
    // npm must not even be asked.
    writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "asked npm for $*"\nexit 9\n', { mode: 0o755 })
    writeFileSync(join(folder, 'packed.tgz'), '')
    const run = (PACKAGE: string) => {
      const env = { PATH: `${folder}:/usr/bin:/bin`, PACKAGE, RUNNER_TEMP: folder, GITHUB_PATH: join(folder, 'path') }
      return spawnSync('bash', ['--norc', '-ec', readScript(textOf(file))], { cwd: folder, env, encoding: 'utf8' })
    }
    for (const name of ['', 'svc-sandbox', 'svc-sandbox@0.1.0', 'absent.tgz']) {
      const { status, stdout, stderr } = run(name)
      expect([name, status, stdout + stderr]).toEqual([
        name,
        1,
        expect.stringMatching(/^(::error::)?Until its release, no registry has svc-sandbox/),
      ])
    }
    expect(run('packed.tgz').stdout).toMatch(/asked npm for install .*packed\.tgz/)
  })

  test('nothing calls svc-sandbox in a way that may install it', () => {
    const files = [
      'README.md',
      'action.yml',
      'docs/{guides,concepts}/*.md',
      'templates/**/*.*',
      'deploy/**/*.*',
      'src/**/*.ts',
    ]
    const mayInstall =
      /(?:\bnpx(?! --no\b)|\bbunx(?! --no-install\b)|\b(?:npm|pnpm|yarn|bun) (?:i|install|add|dlx)(?: -\S+)*) svc-sandbox(?!-)/g
    const calls = files
      .flatMap((pattern) => globSync(pattern, { cwd: root, exclude: ['**/node_modules'] }))
      .flatMap((file) => [...textOf(file).matchAll(mayInstall)].map(([call]) => `${file}: ${call}`))
    expect(calls).toEqual([])
  })

  test('the action is a composite one, whose steps have a shell and use inputs and outputs that it has', () => {
    const text = textOf('action.yml')
    const { inputs, runs } = parse(text) as {
      inputs: Record<string, { description: string; default: string }>
      runs: { using: string; steps: Record<string, unknown>[] }
    }
    expect(runs.using).toBe('composite')
    for (const step of runs.steps) {
      if ('run' in step) {
        expect(step.shell).toBe('bash')
        const { status, stderr } = spawnSync('bash', ['-n'], { input: String(step.run), encoding: 'utf8' })
        expect([status, stderr]).toEqual([0, ''])
        // An input in the text of a script would be run as code.
        expect(step.run).not.toContain('${{')
      } else expect(step.uses).toMatch(/^[\w/-]+@[0-9a-f]{40}$/)
    }
    const used = [...text.matchAll(/inputs\.([\w-]+)/g)].map(([, name]) => name!)
    expect([...new Set(used)].toSorted()).toEqual(Object.keys(inputs).toSorted())
    expect(Object.values(inputs).filter((input) => typeof input.default !== 'string' || !input.description)).toEqual([])
    expect(runs.steps.map(({ id }) => id)).toContain([...text.matchAll(/steps\.(\w+)\.outputs/g)][0]?.[1])
  })

  test('the image runs without root, has a health check, and the feature says what it installs', () => {
    const image = textOf('deploy/sandbox.Containerfile')
    const last = image.split(/^FROM /m).at(-1) ?? ''
    for (const line of ['USER node', 'HEALTHCHECK', 'ENTRYPOINT', 'EXPOSE 4010']) expect(last).toContain(`\n${line}`)
    const feature = JSON.parse(textOf('deploy/devcontainer/src/svc-sandbox/devcontainer-feature.json'))
    const { version } = JSON.parse(textOf('package.json')) as { version: string }
    expect(feature).toMatchObject({ id: 'svc-sandbox', version })
    const script = textOf('deploy/devcontainer/src/svc-sandbox/install.sh')
    for (const option of Object.keys(feature.options)) expect(script).toContain(`\${${option.toUpperCase()}`)
  })
})

describe('settings', () => {
  const text = textOf('docs/guides/settings.md')

  test('every setting and every option of svc start is explained: npm run docs', () => {
    for (const name of settingNames) {
      const { env, flag, description } = settingsTable[name]
      expect(text).toContain(`${flag === null ? '' : `\`${flag}\``} | \`${env}\` | ${description} |`)
    }
    for (const [name, { flags, description }] of startFlags()) {
      expect(text).toContain(`| \`${name}\` | \`${flags}\` | ${description.replaceAll('|', '\\|')} |`)
    }
  })

  test('every environment variable that the source reads is explained', () => {
    const sources = globSync(['src/**/*.{ts,tsx}', 'sandbox/**/*.ts'], { cwd: root, exclude: ['**/*.test.*'] })
    const read = sources.flatMap((file) => {
      const source = readFileSync(join(root, file), 'utf8')
      return [...source.matchAll(/\benv\.([A-Z][A-Z_]+)|'(SVC_[A-Z_]+)'|env\['(\w+)/g)].map(
        ([, a, b, c]) => a ?? b ?? c!,
      )
    })
    expect(read.length).toBeGreaterThan(10)
    expect([...new Set(read)].filter((name) => !text.includes(name))).toEqual([])
  })
})

describe('codes', () => {
  const renderer = textOf('docs/renderer.md')

  test.each(groupNames)('docs/codes/%s.md is up to date: npm run docs', (group) => {
    const text = textOf(`docs/codes/${group}.md`)
    expect(text === writeGroup(group, text, renderer)).toBe(true)
  })

  test.each([
    ['errors', Object.keys(reasonCodes)],
    ['no-fill', Object.keys(noFillReasons)],
    ['beacons', Object.keys(acceptMeanings)],
  ] as const)('every code of %s is explained beyond its one sentence', (group, codes) => {
    const parts = textOf(`docs/codes/${group}.md`).split(/^## /m).slice(1)
    const explained = parts.filter((part) => handwrittenPart(part) !== '').map((part) => part.split('\n', 1)[0])
    expect(codes.filter((code) => !explained.includes(code))).toEqual([])
  })

  test('every code of the page and every rule has a page', () => {
    const topics = new Set(readPages().map(({ topic }) => topic))
    const events = [...renderer.matchAll(/^\| `(\w+)` \|/gm)].map(([, code]) => code!)
    for (const code of ['consent_missing', 'render_timeout', 'label_removed']) expect(events).toContain(code)
    for (const code of Object.keys(reasonCodes)) expect(topics).toContain(`errors/${code}`)
    for (const rule of Object.keys(observeRules)) expect(topics).toContain(`rules/${rule}`)
  })
})

test('what the README states of the checkout is so', () => {
  const readme = textOf('README.md')
  expect(readme.split(/\s+/).length).toBeLessThanOrEqual(1_001)
  const features = textOf('docs/features.md')
  const { engines } = JSON.parse(textOf('package.json')) as { engines: { node: string } }
  const { campaigns } = JSON.parse(textOf('fixtures/demand.json')) as { campaigns: unknown[] }
  expect(features).toContain(`${campaigns.length} campaigns`)
  expect(readme).toContain(`Node ${engines.node.replace('>=', '')} or later`)
  expect(readme).toContain(`by [${Object.keys(observeRules).length} rules](docs/qa-observe.md)`)
  expect(features).toContain(`by [${Object.keys(observeRules).length} rules](qa-observe.md)`)
  expect(features).toContain(`${globSync('fixtures/scenarios/*.json', { cwd: root }).length} scenarios`)
  expect(textOf('CONTRIBUTING.md')).toContain(`${listEdits('suites', 'renderer').length} faults of the emulator`)
})

test('nobody is sent to the package of a stranger: npx svc works in the checkout alone, and only its README says so', () => {
  const texts = globSync(
    [
      '*.md',
      'docs/**/*.{md,ts}',
      'templates/**/*',
      'templates/**/.*',
      'src/**/*.{ts,tsx}',
      'sandbox/**/*.ts',
      'fixtures/**/*.{json,yaml}',
    ],
    { cwd: root, exclude: ['README.md', 'src/**/*.test.*'], withFileTypes: true },
  )
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
  expect(texts).toEqual(
    expect.arrayContaining(['docs/guides/ci.md', 'templates/node-server/.env.example', 'src/main.ts']),
  )
  const strangers = texts.filter((file) => /\bnpx(", "| )(-\S+ )*svc(?!-sandbox)\b/.test(textOf(file)))
  expect(strangers).toEqual(['src/cli/run/system.ts'])
})

test('every dependency is justified, and nothing that is none, with the release in use: docs/decisions/dependencies.md', () => {
  const manifest = JSON.parse(textOf('package.json')) as Record<string, Record<string, string> | undefined>
  const kinds = ['dependencies', 'optionalDependencies', 'devDependencies', 'peerDependencies']
  const onDemand: Record<string, string> = Object.assign(
    {},
    ...['build/tools/binary/package.json', 'build/tools/load/package.json'].map(
      (file) => (JSON.parse(textOf(file)) as { dependencies: Record<string, string> }).dependencies,
    ),
  )
  const names = new Set([...kinds.flatMap((kind) => Object.keys(manifest[kind] ?? {})), ...Object.keys(onDemand)])
  const text = textOf('docs/decisions/dependencies.md')
  const rows = [...text.matchAll(/^\| `([^`]+)` \| (?:.+) \| (\S+), \d{4}-\d\d-\d\d \|$/gm)]
  expect(rows.map(([, name]) => name).toSorted()).toEqual([...names].toSorted())
  const { packages } = JSON.parse(textOf('package-lock.json')) as { packages: Record<string, { version: string }> }
  const { dependencies } = JSON.parse(textOf('tests/interop/testcontainers-tools.json')) as {
    dependencies: Record<string, string>
  }
  Object.assign(onDemand, dependencies)
  for (const [, name = '', release] of rows)
    expect([name, release]).toEqual([name, packages[`node_modules/${name}`]?.version ?? onDemand[name]])
})

test('the changelog has a section for the version of package.json, which stands nowhere else', () => {
  const { version } = JSON.parse(textOf('package.json')) as { version: string }
  expect(textOf('docs/changelog.md')).toMatch(new RegExp(`^## ${version.replaceAll('.', '\\.')}\\n\\n\\S`, 'm'))
  expect(
    textOf('package-lock.json')
      .split('\n')
      .slice(0, 12)
      .filter((line) => line.includes(`"version": "${version}"`)),
  ).toHaveLength(2)
})
