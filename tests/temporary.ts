/** Folders that tests write to, in the folder of the run (`temporary-root.ts`). */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const created: string[] = []

/** Creates an empty folder, which is removed when its test file has ended, however it ends. */
export function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'svc-test-'))
  created.push(path)
  return path
}

/** Removes every folder that this worker has created. Processes that are ending may still write to them. */
export function removeTemporaryDirectories(): void {
  for (const path of created.splice(0)) rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
}

/** Returns the content of every file in a folder and below it. */
export function textsIn(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'latin1'))
}
