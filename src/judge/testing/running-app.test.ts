/** How an app under test ends: by its group, or by the rules of Windows, whose taskkill is a script here. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { startApp } from './running-app.ts'

test.each(['win32', 'linux'])(
  'on %s an app ends with the server that its command line has started',
  async (platform) => {
    const folder = temporaryDirectory()
    const [killed, started] = [join(folder, 'killed'), join(folder, 'started')]
    // Of a tree: those whose parent it is, then itself.
    const taskkill = `echo "$1 PID $3 $4" >"${killed}"\npkill -9 -P "$2"\nkill -9 "$2"`
    writeFileSync(join(folder, 'taskkill'), `#!/bin/sh\n${taskkill}\n`, { mode: 0o755 })
    writeFileSync(
      join(folder, 'server.cjs'),
      `require('node:fs').writeFileSync(${JSON.stringify(started)}, String(process.pid))
    require('node:http').createServer((_, response) => response.end()).listen(process.env.PORT)`,
    )
    const env = { PATH: `${folder}:${process.env.PATH}` }
    // A shell that stays, as cmd.exe does.
    const command = `"${process.execPath}" server.cjs; echo ended`
    const app = await startApp({ command, cwd: folder }, env, platform)
    await app.close()
    expect(existsSync(killed) ? readFileSync(killed, 'utf8') : null).toBe(
      platform === 'win32' ? '/pid PID /t /f\n' : null,
    )
    await expect(fetch(app.url)).rejects.toThrow()
    const pid = Number(readFileSync(started, 'utf8'))
    await expect.poll(() => isRunning(pid)).toBe(false)
  },
)

function isRunning(pid: number): boolean {
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}
