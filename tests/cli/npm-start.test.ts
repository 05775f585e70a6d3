/** `npm start` and Ctrl-C: no process is left, the locator is removed, the port is free. Other ends: tests/processes/npm-start.test.ts */
import { expect, test } from 'vitest'
import { isGone, npmStart } from './npm-start.ts'

test('npm start leaves nothing behind after Ctrl-C, which a terminal sends to npm and to the sandbox alike', async () => {
  const started = await npmStart()
  process.kill(-started.npm, 'SIGINT')
  expect(await started.ended).toBe('SIGINT: stopping\nstopped\n')
  await isGone(started)
})
