/**
 * Runs commands of the built program one after the other in this process, whose streams are the real ones: `node
 * every-command.ts '["health","sandbox projects list"]'`. After each, a line on stderr has its path and exit code as JSON.
 */
import { createReadStream, writeSync } from 'node:fs'
import { join } from 'node:path'

const svc = join(import.meta.dirname, '../../bin/svc.js')

for (const [index, path] of (JSON.parse(process.argv[2] ?? '[]') as string[]).entries()) {
  process.argv = [process.execPath, svc, ...path.split(' ')]
  process.exitCode = undefined
  // A command may destroy its stdin; the next one has to find it as the first one did.
  Object.defineProperty(process, 'stdin', {
    configurable: true,
    value: createReadStream('', { fd: 0, autoClose: false }),
  })
  // The query makes it run again; the modules that it loads stay loaded.
  await import(`../../dist/svc.js?${index}`)
  writeSync(2, `\u0000${JSON.stringify({ path, code: process.exitCode })}\u0000`)
}
