/**
 * The recipe for assistant-ui in docs/guides/chat-lists.md, whose hundred packages are installed here rather than with the
 * checkout. The other recipes are in tests/pages/chat-lists.test.ts.
 */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { openListStage } from '#tests/browser/chat-lists/stage.ts'
import { blocksOf } from '#tests/docs/markdown.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { checkout, install, run } from './run.ts'

const files = join(import.meta.dirname, 'chat-lists')
let directory: string

beforeAll(async () => {
  directory = temporaryDirectory()
  copyFileSync(join(files, 'package.json'), join(directory, 'package.json'))
  await install(directory)
})

test('has no type errors', async () => {
  const imported = ['assistant-ui.tsx', 'MessageRow.tsx', 'sponsored.ts']
  for (const { flags, text } of blocksOf('docs/guides/chat-lists.md')) {
    if (imported.includes(flags.file ?? '')) writeFileSync(join(directory, flags.file!), text)
  }
  const settings = {
    extends: join(checkout, 'tsconfig.json'),
    compilerOptions: { types: [] },
    include: [...imported, join(checkout, 'tests/docs/context.d.ts')],
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(settings))
  await run(process.execPath, [join(checkout, 'node_modules/typescript/bin/tsc'), '--pretty', 'false'], directory)
})

test('three round trips: one placement, one billed view, and the ad is there after each', async () => {
  await using stage = await openListStage({
    entry: join(files, 'assistant-ui.tsx'),
    node_modules: join(directory, 'node_modules'),
  })
  await using list = await stage.open('assistant-ui')
  await list.ask()
  await list.roundTrips()
  expect(list.problems()).toEqual([])
})
