import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root, spawnSvc } from './process.ts'
import { temporaryDirectory } from './test-cli.ts'

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }

test('svc --version is the version of the package, also after other flags', async () => {
  for (const args of [['--version'], ['-V'], ['-q', '--version']]) {
    expect(await spawnSvc(args, {}).ended).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test('svc --help loads no library', async () => {
  const { stdout, code } = await spawnSvc(['--help'], {}).ended
  expect(code).toBe(0)
  expect(stdout).toContain('Usage: svc <command> [options]')
  const bundle = readFileSync(join(root, 'dist/svc.js'), 'utf8')
  const imported = [...bundle.matchAll(/^import .* from "(.*)"/gm)].map(([, specifier]) => specifier as string)
  const chunks = imported.filter((specifier) => specifier.startsWith('./'))
  const size = chunks.reduce((sum, chunk) => sum + readFileSync(join(root, 'dist', chunk)).length, bundle.length)
  expect(size).toBeLessThan(20_000)
})

test('a reader that goes away is no error', async () => {
  const { child, ended } = spawnSvc(['help', 'settings'], { SVC_HOME: temporaryDirectory() })
  child.stdout?.destroy()
  expect(await ended).toMatchObject({ code: 0, stderr: '' })
})
