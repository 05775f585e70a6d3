import { expect, test } from 'vitest'
import { readProcessStart } from './proc.ts'

/** No process of this system: as where /proc is of another namespace, or there is none. */
const unseen = -1

test('the start of a process is known where its system shows it', async () => {
  const { pid, platform } = process
  const start = await readProcessStart(pid, pid, platform)
  if (platform !== 'win32') expect(start).toMatch(/\d/)
  expect(await readProcessStart(pid, pid, platform)).toBe(start)
  for (const silent of ['linux', 'win32']) expect(await readProcessStart(pid, unseen, silent)).toBeNull()
})
