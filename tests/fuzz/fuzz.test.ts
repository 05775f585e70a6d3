/**
 * The coverage-guided fuzzer, a few seconds on each parser of files from strangers, and on one with a fault that it must find.
 * FUZZ_SECONDS=600 for longer; `npm run fuzz` keeps what it finds.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, inject, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { bundleTarget, root } from './bundle.ts'
import { figuresLine, findText, fuzzTarget } from './campaign.ts'
import { listTargets, readCorpus, targetFile } from './corpus.ts'
import { type FuzzTools, fuzz, openTools } from './fuzzer.ts'
import { target as planted } from './planted.ts'

const seconds = Number(process.env.FUZZ_SECONDS ?? 10)
const seed = Number(process.env.FUZZ_SEED ?? 1 + Math.floor(Math.random() * 1e9))
const names = listTargets()
const lanes = availableParallelism()
let tools: FuzzTools

beforeAll(async () => {
  tools = await openTools(inject('system_tmp'))
})

test('no parser of files from strangers does what nothing foresees', { timeout: (seconds + 300) * 1_000 }, async () => {
  const waiting = [...names]
  const finds: string[] = []
  const lines: string[] = []
  const lane = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const result = await fuzzTarget(name, {
        tools,
        seconds: Math.max(1, Math.round((seconds * lanes) / names.length)),
        seed,
      })
      lines.push(figuresLine(result))
      expect(result.executions, name).toBeGreaterThanOrEqual(readCorpus(name).length)
      if (result.find !== null) finds.push(findText(name, result.find))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  console.log(`${lines.sort().join('\n')}\nseed ${seed}`)
  expect(finds, `npm run fuzz -- --seed ${seed}`).toEqual([])
})

test('a length that is trusted is found', async () => {
  const { find } = await fuzz(join(import.meta.dirname, 'planted.ts'), planted, {
    tools,
    seconds: 60,
    seed,
    corpus: [],
  })
  expect(find?.report).toContain('there is no character')
  expect(find?.bytes.toString('latin1')).toMatch(/^SVC:/)
})

test('the oldest Node reads the inputs that were kept in the same way', async () => {
  const folder = temporaryDirectory()
  const all = []
  for (const name of names) {
    all.push({
      bundle: await bundleTarget(targetFile(name), folder),
      inputs: readCorpus(name).map(({ bytes }) => bytes.toString('base64')),
    })
  }
  writeFileSync(join(folder, 'all.json'), JSON.stringify(all))
  writeFileSync(join(folder, 'replay.cjs'), replay)
  const node = join(tools.folder, 'node_modules/node22/bin/node')
  const env = { ...process.env, NODE_PATH: join(root, 'node_modules'), NODE_OPTIONS: '' }
  const { stdout } = await promisify(execFile)(node, [join(folder, 'replay.cjs')], { env })
  expect(JSON.parse(stdout)).toEqual({
    version: 'v22.19.0',
    finds: [],
    inputs: all.flatMap(({ inputs }) => inputs).length,
  })
})

const replay = `
  const finds = []
  let inputs = 0
  async function main() {
    for (const { bundle, inputs: each } of require('./all.json')) {
      const { fuzz } = require(bundle)
      for (const input of each) {
        inputs++
        try {
          await fuzz(Buffer.from(input, 'base64'))
        } catch (error) {
          finds.push(bundle + ' ' + input.slice(0, 200) + ': ' + error)
        }
      }
    }
    process.stdout.write(JSON.stringify({ version: process.version, finds, inputs }))
  }
  main()
`
