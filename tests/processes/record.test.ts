/** `svc record` that is killed while an app goes through it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient } from '#client/index.ts'
import { readRecording } from '#contract/recordings/recording.ts'
import { startSandbox } from '#sandbox/index.ts'
import { spawnSvc } from '#tests/cli/process.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

test.for([40, 47, 54])('a kill after %i requests leaves a file with what came before it', async (limit) => {
  await using sandbox = await startSandbox()
  const home = temporaryDirectory()
  const file = join(home, 'turn.har')
  const words = ['record', '--upstream', sandbox.url, '--port', '0', '--out', file, '-o', 'json']
  const recording = spawnSvc(words, { SVC_HOME: home }, home)
  const { url } = JSON.parse(await recording.firstLine) as { url: string }
  const client = createClient({ base_url: url, credential: 'sk_test_sandbox_demo' })
  let done = 0
  const load = Array.from({ length: 8 }, async () => {
    for (;;) {
      await client.placements.create({ body: { client_id: 'proj_demo', session_id: 'sess_1', job_type: 'chat' } })
      if (++done === limit) recording.child.kill('SIGKILL')
    }
  })
  await Promise.allSettled(load)
  await recording.ended
  expect(readRecording(readFileSync(file, 'utf8')).exchanges.length).toBeGreaterThan(20)
})
