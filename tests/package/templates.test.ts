/** Every template is complete, as far as can be seen without an install; `npm run test:templates` does the rest. */
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type CommandNode, commandTree } from '#cli/run/help.ts'
import { planProject } from '#scaffold/project.ts'
import { listTemplates } from '#scaffold/templates.ts'
import { commands } from '#src/program.ts'
import { checkout } from './unpack.ts'

interface TemplateManifest {
  name: string
  version: string
  description: string
  private: boolean
  engines: { node: string }
  scripts: Record<string, string>
  devDependencies: Record<string, string>
}

const templates = listTemplates()
const { engines } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as TemplateManifest

test('there are the templates that the documentation names', () => {
  expect(templates.map(({ name }) => name)).toEqual([
    'agent-cli',
    'browser-chat',
    'flask-server',
    'go-server',
    'java-server',
    'next-chat',
    'node-server',
    'php-server',
    'python-server',
    'react-chat',
    'ruby-server',
    'vitest-suite',
  ])
})

test.each(templates.map(({ name }) => name))(
  'the README of %s names its Node, and what to do when the port is another',
  (name) => {
    const text = readFileSync(join(checkout, 'templates', name, 'README.md'), 'utf8')
    expect(text).toContain(`Node ${engines.node.replace('>=', '')} or later`)
    if (text.includes('start` in one terminal'))
      expect(text).toContain('SVC_BASE_URL there is the URL that the sandbox printed')
  },
)

test('what templates share is used: every layer by two templates or more, every other file by an include', () => {
  const shared = join(checkout, 'templates/_shared')
  const layers = JSON.parse(readFileSync(join(shared, 'layers.json'), 'utf8')) as Record<string, object>
  const names = templates.map(({ name }) => name)
  for (const takers of Object.values(layers).map(Object.keys)) {
    expect(takers.length).toBeGreaterThan(1)
    expect(names).toEqual(expect.arrayContaining(takers))
  }
  const sheets = globSync('templates/*/**/*.css', { cwd: checkout }).map((file) =>
    readFileSync(join(checkout, file), 'utf8'),
  )
  const included = sheets.flatMap((text) =>
    [...text.matchAll(/include \.\.\/_shared\/(\S+)/g)].map(([, file]) => file!),
  )
  expect(readdirSync(shared).toSorted()).toEqual(
    [...new Set([...Object.keys(layers), ...included, 'README.md', 'layers.json', 'toolchains.json'])].toSorted(),
  )
})

describe.each(templates)('$name', async (template) => {
  const { name, directory } = template
  const read = (path: string) => readFileSync(join(directory, path), 'utf8')
  const { files } = planProject(template, name)
  const paths = files.map(({ path }) => path)
  const texts = await Promise.all(
    files
      .filter(({ path }) => !/\.(tgz|png|jpg|ico|woff2)$/.test(path))
      .map(async ({ path, read }) => ({ path, text: Buffer.from(await read()).toString('utf8') })),
  )
  const manifest = JSON.parse(read('package.json')) as TemplateManifest

  test('has what every project needs', () => {
    expect(paths).toEqual(
      expect.arrayContaining(['.env.example', 'AGENTS.md', '.gitignore', 'README.md', 'package.json']),
    )
    expect(
      paths.some((path) => /(^|\/)(.+\.test\.[jt]sx?|test_.+\.py|.+_test\.(go|rb)|.+Test\.(java|php))$/.test(path)),
    ).toBe(true)
    expect(read('_gitignore')).toMatch(/^node_modules\/?$/m)
    expect(read('_gitignore')).toMatch(/^\.env$/m)
    expect(read('_gitignore')).not.toContain('tgz')
  })

  test('its package.json has its name, the sandbox and scripts that work', () => {
    expect(manifest).toMatchObject({ name, private: true, engines, devDependencies: { 'svc-sandbox': 'file:../..' } })
    // With its name and number it fits a terminal of 80 columns.
    expect(manifest.description).toMatch(/^[A-Z].{30,58}[^.]$/)
    expect(manifest.scripts.test).toMatch(/^svc exec /)
    expect(manifest.scripts.dev).toMatch(/^svc exec /)
    // PORT says which, and a flag would win.
    expect(Object.values(manifest.scripts).join('\n')).not.toContain('--port')
  })

  test('an older Node is refused at npm install where npm start would fail on its TypeScript', () => {
    const npmrc = texts.find(({ path }) => path === '.npmrc')?.text ?? ''
    expect(npmrc.includes('engine-strict=true')).toBe(/^node .*\.ts$/.test(manifest.scripts.start ?? ''))
  })

  test('it names commands as you type them there: svc is only in its npm scripts', () => {
    for (const path of ['README.md', 'AGENTS.md', '.env.example'])
      expect(read(path).match(/`svc (?!exec)[^`]*`/g), path).toBeNull()
  })

  test('its README has the commands, and where the keys go', () => {
    const readme = read('README.md')
    expect(readme).toContain('npm install')
    expect(readme).toContain('npm test')
    expect(readme).toContain('## Where the keys go')
    expect(readme).toMatch(/consent/i)
    for (const [, script] of readme.matchAll(/npm run ([\w:-]+)/g)) expect(manifest.scripts).toHaveProperty(script!)
    for (const [, path] of readme.matchAll(/`((?:src|app|test|tests|public|components|lib)\/[\w./-]+\.\w+)`/g)) {
      expect(paths).toContain(path)
    }
  })

  test('its AGENTS.md is short, and names commands and files that exist', async () => {
    const text = read('AGENTS.md')
    expect(text.split('\n').length).toBeLessThan(50)
    const scripts = [...text.matchAll(/npm run ([\w:-]+)/g)].map(([, script]) => script!)
    expect(scripts).toContain('dev')
    for (const script of scripts) expect(manifest.scripts).toHaveProperty(script)
    for (const [, path] of text.matchAll(/^\| `([^`]+)` \|/gm)) expect(paths).toContain(path)
    const tree = await commandTree(commands)
    const lines = [...text.matchAll(/`npx --no svc-sandbox ([^`]+)`/g)].map(([, line]) =>
      line!.split(' -- ', 1)[0]!.split(' '),
    )
    expect(lines.length).toBeGreaterThan(5)
    for (const words of lines) {
      let node: CommandNode | undefined = tree.find(({ name }) => name === words[0])
      if (node?.commands !== undefined) node = node.commands.find(({ name }) => name === words[1])
      expect(node, words.join(' ')).toBeDefined()
      const flags = node!.options?.flatMap(({ flags }) => flags.match(/--[\w-]+/g) ?? []) ?? []
      expect(flags, words.join(' ')).toEqual(expect.arrayContaining(words.filter((word) => word.startsWith('--'))))
    }
  })

  test('its .env.example has every variable that it reads, and no key but those of the sandbox', () => {
    const named = new Set(read('.env.example').match(/^\w+(?==)/gm))
    // Tests may read all that svc exec sets; comments and READMEs may mention what is not read.
    const sources = texts.filter(({ path }) => !/(^|\/)tests?\/|\.test\.|_test\.|\.md$/.test(path))
    const used = sources.flatMap(
      ({ text }) => text.replace(/^\s*(\/?\*|\/\/|#).*$/gm, '').match(/\bSVC_[A-Z_]+\b/g) ?? [],
    )
    expect([...new Set(used)].filter((variable) => !named.has(variable))).toEqual([])
    for (const { path, text } of texts) {
      expect(text, path).not.toContain('../_shared')
      const keys = text.match(/\b[sp]k_(test|live)_\w+/g) ?? []
      expect(
        keys.filter((key) => !/^[sp]k_test_sandbox_(demo|other|strict)$/.test(key)),
        path,
      ).toEqual([])
    }
  })
})
