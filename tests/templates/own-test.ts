/** An unchanged template installs, builds and passes its own tests; a backend also shows an ad and keeps the rules of `svc observe`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { expect, test } from 'vitest'
import { freePort } from '#tests/cli/process.ts'
import { type Scaffolded, scaffold } from './scaffolded.ts'

export function testTemplate(name: string): void {
  test(`${name} installs, builds and passes its own tests`, async () => {
    const project = await scaffold(name)
    const { pretest, ...scripts } = project.scripts
    for (const script of ['build', 'check']) {
      // What its test builds first is built by that.
      if (scripts[script] !== undefined && scripts[script] !== pretest) await project.run('npm', 'run', script)
    }
    await project.run('npm', 'test')
    if (scripts['test:browser'] !== undefined) await testInBrowser(project)
    expect(existsSync(join(project.directory, '.gitignore'))).toBe(true)
  })
}

/** A backend with the page of `templates/_shared/page`. */
export function testBackend(name: string): void {
  test(`${name} installs, passes its own tests, and keeps the rules of svc observe in them`, async () => {
    const project = await scaffold(name)
    if (project.scripts.check !== undefined) await project.run('npm', 'run', 'check')
    const { broken, kept } = await observe(project, [], ['npm', 'test'])
    expect(broken).toEqual([])
    expect(kept).toEqual(
      expect.arrayContaining([
        'consent-missing',
        'asked-after-denial',
        'text-not-shared',
        'pending-given-up',
        'polled-after-ready',
        'retry-after-ignored',
        'retry-without-backoff',
        'beacon-repeated',
        'view-not-counted',
      ]),
    )
    expect(existsSync(join(project.directory, '.gitignore'))).toBe(true)
  })

  test(`${name} shows an ad in its page, and keeps the rules of svc observe`, async () => {
    const project = await scaffold(name)
    writeFileSync(join(project.directory, 'turn.yaml'), turn)
    const port = await freePort()
    const page = ['--url', `http://localhost:${port}`, '--steps', 'turn.yaml', '--for', '8s']
    const browser = ['--browser-path', await chromium.executablePath()]
    const { broken, kept } = await observe(project, [...page, ...browser], ['env', `PORT=${port}`, 'npm', 'start'])
    expect(broken).toEqual([])
    expect(kept).toEqual(
      expect.arrayContaining([
        'secret-key-served',
        'label-hidden',
        'fill-unused',
        'view-not-counted',
        'beacon-missing',
      ]),
    )
  })
}

/** A turn of a user in the page of the backends, whose first response a busy computer may delay. */
const turn = `- run: while (document.querySelector('option') === null) await new Promise((done) => setTimeout(done, 50))
- click: text=Allow
- run: while (!document.querySelector('output').textContent.startsWith('Allowed')) await new Promise((done) => setTimeout(done, 50))
- click: text=Send
- wait_for: visible
`

/** Runs a command under `svc observe`, which fails when it saw no request. Returns the rules by what became of them. */
async function observe(
  { directory, run }: Scaffolded,
  options: readonly string[],
  command: readonly string[],
): Promise<{ broken: string[]; kept: string[] }> {
  await run('svc', 'observe', '--reporter', 'json=observed.json', ...options, '--', ...command)
  const { cases } = JSON.parse(readFileSync(join(directory, 'observed.json'), 'utf8')) as {
    cases: { id: string; tags: string[] }[]
  }
  const tagged = (...tags: string[]) =>
    cases.filter((rule) => rule.tags.some((tag) => tags.includes(tag))).map(({ id }) => id.replace('observe/', ''))
  return { broken: tagged('error', 'warning'), kept: tagged('holds') }
}

/** Runs the template's test in a browser: with the Chromium of the checkout, and with patience for a busy computer. */
async function testInBrowser({ directory, run }: Scaffolded): Promise<void> {
  const launchOptions = { executablePath: await chromium.executablePath(), args: ['--no-sandbox', '--disable-gpu'] }
  const changes = { reporter: 'line', timeout: 120_000, expect: { timeout: 30_000 } }
  writeFileSync(
    join(directory, 'installed-chromium.config.js'),
    `import config from './playwright.config.js'
export default { ...config, ...${JSON.stringify(changes)}, use: { ...config.use, launchOptions: ${JSON.stringify(launchOptions)} } }
`,
  )
  expect(await run('playwright', 'test', '--config', 'installed-chromium.config.js')).toContain('3 passed')
}
