/**
 * Global setup of all tests: a run has a temporary folder of its own, which its processes inherit as TMPDIR. It is
 * removed when the run ends. Folders of svc that are left in it by then make the run fail.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'

export async function setup(): Promise<() => void> {
  // Each project of a run calls it.
  if (process.env.SVC_TESTS_PID === String(process.pid)) return () => {}
  process.env.SVC_TESTS_PID = String(process.pid)
  // Unpacked once and kept for later runs. Two workers that both unpacked it would start half a browser.
  const browser = await chromium.executablePath()
  const root = mkdtempSync(join(findFolder(), 'svc-tests-'))
  // As open as the system's own: some tests run as another user.
  chmodSync(root, 0o1777)
  symlinkSync(browser, join(root, 'chromium'))
  process.env.TMPDIR = root
  // Threads and processes of the sources strip their types and compile once a run: a start takes a third of the time.
  process.env.NODE_COMPILE_CACHE = join(root, 'compiled')
  // The browsers of the workers write to their profiles until the workers have ended.
  process.once('exit', () => rmSync(root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 }))
  return () => {
    const left = readdirSync(root).filter((name) => name.startsWith('svc-') && !isCompiled(join(root, name)))
    if (left.length > 0) throw new Error(`Tests left ${left.length} temporary folders: ${left.join(', ')}`)
  }
}

/** The room that `npm test` needs in memory, several times over, bytes. */
const enoughRoom = 4_000_000_000

/** Returns the folder of the run's own. `npm test` has it in memory where it fits: its files then cost a tenth less of the processors. */
function findFolder(): string {
  const isChosen = process.env.TMPDIR !== undefined
  return process.env.SVC_SUITE === 'test' && !isChosen && canRunIn('/dev/shm') ? '/dev/shm' : tmpdir()
}

/** Whether a folder has room, and programs in it run: containers forbid that in theirs. */
function canRunIn(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize < enoughRoom) return false
    const probe = mkdtempSync(join(folder, 'svc-probe-'))
    try {
      writeFileSync(join(probe, 'run'), '#!/bin/sh\n', { mode: 0o755 })
      execFileSync(join(probe, 'run'))
    } finally {
      rmSync(probe, { recursive: true })
    }
    return true
  } catch {
    return false
  }
}

/** Whether a folder has compiled code alone: a process that ends after a run within this one writes it where that run had its folder. */
function isCompiled(folder: string): boolean {
  return statSync(folder).isDirectory() && readdirSync(folder).join() === 'compiled'
}
