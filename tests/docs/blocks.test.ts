/**
 * Every code block of the documentation and the README. Shell blocks are run as written, page by page, each page against a
 * sandbox and in a folder of its own; what is shown below them is compared loosely. TypeScript and JavaScript are checked by
 * the compiler in strict mode against the types of this package; JSON, YAML and Python are parsed. Blocks that start sandboxes
 * of their own are in tests/matrices/programs.test.ts.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { reasonCodes } from '#contract/errors.ts'
import { freePort, root } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/cli/test-cli.ts'
import { wait_ms } from '#tests/patience.ts'
import { type Block, blocksOf, docFiles, unrunReasons, writeCode } from './markdown.ts'
import { linkPackages, missingLine, openPage, runBlock, writeFile } from './shell.ts'

const blocks = docFiles.flatMap(blocksOf)
const name = ({ file, line }: Pick<Block, 'file' | 'line'>) => `${file}:${line}`

const languages = ['sh', 'text', 'ts', 'tsx', 'js', 'json', 'yaml', 'html', 'python', 'dockerfile', 'dotenv', 'groovy']
/** Of the recipe for Testcontainers, whose settings tests/interop checks and starts a container with. */
const recipeLanguages = ['java', 'go']

test('each block has a language that is checked', () => {
  const isChecked = ({ file, language }: Block) =>
    languages.includes(language) || (file === 'docs/guides/containers.md' && recipeLanguages.includes(language))
  expect(blocks.filter((block) => !isChecked(block)).map(name)).toEqual([])
})

/** The pages that a newcomer reads first. */
const isFirst = (file: string) => file === 'README.md' || file === 'docs/guides/getting-started.md'

async function runPage(_: string, own: readonly Block[]): Promise<void> {
  await using page = await openPage()
  for (const block of own) {
    const { flags, language, output, heading, text } = block
    if (flags.file !== undefined) writeFile(page, flags.file, text)
    if (language !== 'sh' || 'own' in flags) continue
    if (flags.unrun !== undefined) {
      expect(Object.keys(unrunReasons), name(block)).toContain(flags.unrun)
      const { status, stderr } = spawnSync('sh', ['-n'], { input: text, encoding: 'utf8' })
      expect({ at: name(block), status, stderr }).toEqual({ at: name(block), status: 0, stderr: '' })
      continue
    }
    const ended = await runBlock(page, block)
    const said = `${name(block)}\n${text}\n${ended.output}`
    expect(ended.code, said).toBe(Number(flags.exit ?? 0))
    // Below the name of an error, a command that fails shows that error.
    if (ended.code !== 0 && heading in reasonCodes && block.file.endsWith('codes/errors.md')) {
      expect(ended.output, said).toContain(`reason ${heading}`)
    }
    if (output !== null) expect({ missing: missingLine(output, ended.output), said }).toEqual({ missing: null, said })
  }
}

describe('shell blocks', () => {
  const pages = Map.groupBy(
    blocks.filter(({ language, flags }) => language === 'sh' || 'file' in flags),
    ({ file }) => file,
  )
  const run = [...pages].filter(([, own]) => own.some(({ language }) => language === 'sh'))

  const [first, others] = [run.filter(([file]) => isFirst(file)), run.filter(([file]) => !isFirst(file))]
  test.concurrent.each(first)('%s', runPage)
  test.concurrent.each(others)('%s', { tags: 'depth' }, runPage)

  test('a line that a command does not print is noticed', () => {
    const printed = 'status   ready, fill\nslot     slot_038k9tmm001\ntook     12 ms\n'
    expect(missingLine('status  ready, fill\n...\ntook  7 ms\n', printed)).toBeNull()
    expect(missingLine('status  ready, no fill\n', printed)).toBe('status  ready, no fill')
    expect(missingLine('took  7 ms\nstatus  ready, fill\n', printed)).toBe('status  ready, fill')
  })
})

describe('code blocks', () => {
  // Those of them that are tests run in the package: tests/package/package.test.ts
  test('TypeScript and JavaScript have no type errors', { tags: 'depth' }, () => {
    const project = temporaryDirectory()
    linkPackages(project)
    const code = writeCode(project)
    expect(code.length).toBeGreaterThan(10)
    execFileSync(process.execPath, [join(root, 'build/dist.ts'), '--if-stale', '--types'], { cwd: root })
    writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(settings))
    const words = [join(root, 'node_modules/typescript/bin/tsc'), '-p', project, '--pretty', 'false']
    const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: project, encoding: 'utf8' })
    const named = stdout.replace(/block-(\d+)(?:\.test)?\.\w+\((\d+),/g, (_, index: string, line: string) => {
      const { file, line: first } = code[Number(index)]!
      return `${file}:${first + Number(line)} (`
    })
    expect(named + stderr).toBe('')
  })

  test('the backend of In a page goes on after bad requests and without the service, and polls nothing but decisions', async () => {
    await using page = await openPage()
    const block = blocks.find(({ file, flags }) => file === 'docs/guides/browser.md' && flags.file === 'server.ts')!
    writeFile(page, 'server.ts', block.text)
    const port = await freePort()
    const { url, keys } = page.sandbox
    const env = { SVC_BASE_URL: url, SVC_SECRET_KEY: keys.secret_key, SVC_CLIENT_ID: keys.client_id, PORT: `${port}` }
    const backend = spawn(process.execPath, ['server.ts'], { cwd: page.directory, env, stdio: 'inherit' })
    onTestFinished(() => void backend.kill())
    const status = async (method: string, query = '', body?: string) => {
      const response = await fetch(`http://127.0.0.1:${port}/api/placement${query}`, { method, body: body ?? null })
      return response.status
    }
    const turn = JSON.stringify({ session_id: 'docs', job_type: 'chat', client_id: 'proj_other' })
    await vi.waitFor(() => status('GET'), wait_ms)
    expect(await status('POST', '', turn)).toBe(200)
    expect(await status('POST', '', 'nonsense')).toBe(502)
    expect(await status('GET', '?wait_ms=0&slot_id=..%2Fprojects%2Fproj_demo%2Fconfig%3F')).toBe(404)
    await page.sandbox.close()
    expect(await status('POST', '', turn)).toBe(502)
    expect(await status('GET', '?wait_ms=0&slot_id=slot_00000000003')).toBe(502)
  })

  test.each(blocks.filter(({ language }) => language === 'json').map((block) => [name(block), block.text]))(
    '%s is JSON',
    (_, text) => {
      expect(() => JSON.parse(text)).not.toThrow()
    },
  )

  test.each(blocks.filter(({ language }) => language === 'yaml').map((block) => [name(block), block.text]))(
    '%s is YAML',
    (_, text) => {
      const problems = parseAllDocuments(text).flatMap((document) => ('errors' in document ? document.errors : []))
      expect(problems).toEqual([])
    },
  )

  test('Python compiles', { tags: 'depth' }, () => {
    const python = blocks.filter(({ language }) => language === 'python')
    expect(python.length).toBeGreaterThan(0)
    for (const block of python) {
      const program = 'import ast, sys; ast.parse(sys.stdin.read())'
      const { status, stderr, error } = spawnSync('python3', ['-c', program], { input: block.text, encoding: 'utf8' })
      // Where CI has no Python, that is a mistake of its image; elsewhere this is checked by the next one who has it.
      if (error !== undefined && process.env.CI === undefined) return
      expect({ at: name(block), status, stderr }).toEqual({ at: name(block), status: 0, stderr: '' })
    }
  })
})

/** The types of the built package: those of its sources would be checked too, which takes four times as long. */
const settings = {
  extends: join(root, 'tsconfig.json'),
  compilerOptions: { allowJs: true, checkJs: true, noUnusedLocals: false, noUnusedParameters: false },
  include: ['block-*', join(root, 'tests/docs/context.d.ts')],
}
