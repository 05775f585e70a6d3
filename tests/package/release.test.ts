/** The parts of `npm run release` that need neither the registry nor a build. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { changelogSection, sums } from '#build/release.ts'
import { billOfMaterials } from '#build/sbom.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { checkout, readManifest } from './unpack.ts'

const changelog = readFileSync(join(checkout, 'docs/changelog.md'), 'utf8')

test('the changelog has a section for the version of package.json, and another version stops the release', () => {
  const { version } = readManifest(checkout)
  expect(changelogSection(changelog, version).split('\n')[0]).toBe(`## ${version}`)
  expect(() => changelogSection(changelog, '99.0.0')).toThrow('docs/changelog.md has no section for 99.0.0.')
  expect(() => changelogSection(changelog.replace('\n## ', '\n## 99.0.0\n\n## '), '99.0.0')).toThrow('## 99.0.0')
})

test('sha256sum --check accepts the sums', () => {
  const directory = temporaryDirectory()
  for (const name of ['b.tgz', 'a.txt']) writeFileSync(join(directory, name), name)
  writeFileSync(join(directory, 'SHA256SUMS'), sums(directory))
  const { status, stdout } = spawnSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd: directory, encoding: 'utf8' })
  expect([status, stdout]).toEqual([0, 'a.txt: OK\nb.tgz: OK\n'])
})

test('the bill of materials has what is installed and what is bundled, with versions and licences, and nothing of its own time', () => {
  const { components, serialNumber, metadata } = billOfMaterials(checkout)
  expect([serialNumber, metadata?.timestamp]).toEqual([undefined, undefined])
  expect(components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['better-sqlite3', 'zod', 'commander', 'react']),
  )
  for (const { name, version, licenses } of components) {
    expect(version, name).toMatch(/^\d+\.\d+/)
    expect(licenses?.length, name).toBeGreaterThan(0)
  }
})

test('without --dry-run nothing is done, and it says how a release is published', () => {
  const { status, stderr } = spawnSync(process.execPath, ['build/release.ts'], { cwd: checkout, encoding: 'utf8' })
  expect(stderr).toMatch(/publishes nothing\. Add --dry-run/)
  expect(status).toBe(2)
})
