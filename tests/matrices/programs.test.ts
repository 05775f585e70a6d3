/**
 * The shell blocks that start sandboxes of their own, around a program or in the background: each takes a second or more, so
 * they run with `npm run test:mutations`. The others are in blocks.test.ts.
 */
import { expect, test } from 'vitest'
import { blocksOf, docFiles } from '#tests/docs/markdown.ts'
import { missingLine, openPage, runBlock, writeFile } from '#tests/docs/shell.ts'

const pages = docFiles
  .map((file) => [file, blocksOf(file)] as const)
  .filter(([, own]) => own.some(({ flags }) => 'own' in flags))

test('there are such blocks', () => {
  expect(pages.length).toBeGreaterThan(2)
})

test.each(pages)('%s', async (file, blocks) => {
  await using page = await openPage()
  for (const block of blocks) {
    if (block.flags.file !== undefined) writeFile(page, block.flags.file, block.text)
    if (!('own' in block.flags)) continue
    const { code, output } = await runBlock(page, block)
    const said = `${file}:${block.line}\n${block.text}\n${output}`
    expect(code, said).toBe(Number(block.flags.exit ?? 0))
    if (block.output !== null)
      expect({ missing: missingLine(block.output, output), said }).toEqual({ missing: null, said })
  }
})
