/** The package and the single binary, built in two folders at two times: both have the same bytes, so that anyone can check a release. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, globSync, lutimesSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'

const checkout = join(import.meta.dirname, '../..')
const sources = ['bin', 'build', 'docs', 'fixtures', 'sandbox', 'src', 'templates']
const files = ['LICENSE', 'README.md', 'package.json', 'package-lock.json', 'tsconfig.json']

/** Copies the checkout, builds everything there, and returns the sums of what a release has. */
function build(folder: string, { seconds, TZ }: { seconds: number; TZ: string }): Record<string, string> {
  mkdirSync(folder, { recursive: true })
  for (const name of [...sources, ...files]) cpSync(join(checkout, name), join(folder, name), { recursive: true })
  for (const path of globSync('**/*', { cwd: folder })) lutimesSync(join(folder, path), seconds, seconds)
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, env: { ...process.env, TZ }, stdio: ['ignore', 'ignore', 'inherit'] })
  run(process.execPath, 'build/dist.ts', '--types')
  run('npm', 'pack', '--ignore-scripts', '--silent', '--pack-destination', '.')
  run(process.execPath, 'build/package.ts', '--out', '.')
  const built = globSync('svc-*', { cwd: folder }).toSorted()
  return Object.fromEntries(
    built.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex'),
    ]),
  )
}

test('two builds in two folders have the same bytes', () => {
  const one = build(join(temporaryDirectory(), 'one'), { seconds: 1_577_836_800, TZ: 'UTC' })
  const other = build(join(temporaryDirectory(), 'another/folder/below'), { seconds: 1_767_225_600, TZ: 'Asia/Tokyo' })
  expect(Object.keys(one).filter((name) => /\.tgz$|-x64$|-arm64$/.test(name))).toHaveLength(2)
  expect(other).toEqual(one)
})
