/**
 * Global setup of all tests: a run has a temporary folder of its own, which its processes inherit as TMPDIR. It is
 * removed when the run ends. Folders of svc that are left in it by then make the run fail.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import chromium from '@sparticuz/chromium'

export async function setup(): Promise<() => void> {
  // Each project of a run calls it.
  if (process.env.SVC_TESTS_PID === String(process.pid)) return () => {}
  process.env.SVC_TESTS_PID = String(process.pid)
  // Unpacked once and kept for later runs. Two workers that both unpacked it would start half a browser.
  const browser = await chromium.executablePath()
  const root = mkdtempSync(join(tmpdir(), 'svc-tests-'))
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

/** Whether a folder has compiled code alone: a process that ends after a run within this one writes it where that run had its folder. */
function isCompiled(folder: string): boolean {
  return statSync(folder).isDirectory() && readdirSync(folder).join() === 'compiled'
}
