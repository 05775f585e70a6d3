/** An unchanged template installs, builds and passes its own tests. */
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'
import { expect, test } from 'vitest'
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

/** The tests of a template show an integration without a fault, trouble of the service included. */
export function testObserved(name: string): void {
  test(`svc qa observe has no error and no warning about the tests of ${name}`, async () => {
    const project = await scaffold(name)
    const report = await project.run('svc', 'qa', 'observe', '--strict', '--', 'npm', 'test')
    // Retries, polls and beacons were there to be judged.
    for (const rule of ['retry-after-ignored', 'polled-after-ready', 'view-not-counted', 'text-not-shared'])
      expect(report.slice(report.indexOf('rules hold:'), report.indexOf('had nothing'))).toContain(rule)
  })
}
