import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { buildDeclarations } from './declarations.ts'

const builder = `import { mkdirSync, writeFileSync } from 'node:fs'
if (!process.argv.includes('--types')) process.exit(1)
mkdirSync('dist/types', { recursive: true })
writeFileSync('dist/types/' + Date.now(), '')`

test('a checkout without declarations builds them, once; an installed package has no builder', async () => {
  const root = temporaryDirectory()
  await buildDeclarations(root)
  expect(existsSync(join(root, 'dist'))).toBe(false)
  mkdirSync(join(root, 'build'))
  writeFileSync(join(root, 'build/dist.ts'), builder)
  await buildDeclarations(root)
  expect(existsSync(join(root, 'dist/types'))).toBe(true)
  writeFileSync(join(root, 'build/dist.ts'), 'throw new Error()')
  await buildDeclarations(root)
})
