/** Files that are read and written while other work goes on: at once, when the schedule has it. */
import {
  accessSync,
  closeSync,
  copyFileSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { Readable } from 'node:stream'
import type { Scheduler } from './scheduler.ts'

const require = createRequire(import.meta.url)

/**
 * Replaces what the product uses of `node:fs/promises`, its streams and flushes. Called once.
 * @param onFlush called with the inode of each file that is flushed
 */
export function replaceFiles(scheduler: () => Scheduler, onFlush: (inode: number) => void): void {
  // The name is that of the replaced one from then on.
  const original = fsyncSync
  const flush = (file: number) => {
    original(file)
    onFlush(fstatSync(file).ino)
  }
  const later =
    <Arguments extends unknown[], Result>(work: (...args: Arguments) => Result) =>
    (...args: Arguments) =>
      new Promise<Result>((resolve, reject) => {
        scheduler().add('thread', 0, () => {
          try {
            resolve(work(...args))
          } catch (error) {
            reject(error)
          }
        })
      })
  const write = later(writeFileSync)
  Object.assign(require('node:fs/promises'), {
    readFile: later(readFileSync),
    rm: later(rmSync),
    copyFile: later(copyFileSync),
    open: later((path: string, flags: string) => {
      const file = openSync(path, flags)
      return { sync: later(() => flush(file)), close: later(() => closeSync(file)) }
    }),
    async writeFile(path: string, bytes: AsyncIterable<Uint8Array>, options: { mode: number }) {
      const chunks: Uint8Array[] = []
      for await (const chunk of bytes) chunks.push(chunk)
      await write(path, Buffer.concat(chunks), options)
    },
  })
  const access = later(accessSync)
  Object.assign(require('node:fs'), {
    fsyncSync: flush,
    createReadStream: (path: string) => Readable.from([readFileSync(path)]),
    // Of the database driver.
    access: (path: string, done: (error: unknown) => void) => void access(path).then(() => done(null), done),
  })
}
