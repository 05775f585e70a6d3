/** The programs of Windows and macOS, as scripts that print what they print there, and the /proc of Linux. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Locator } from '../settings/state-directory.ts'
import { portHolder } from './port-holder.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-ports-'))
afterEach(() => void vi.unstubAllEnvs())
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function install(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`)
  chmodSync(join(folder, name), 0o755)
}

test('Windows shows the process that listens, in any language, and none for a port that is only used', async () => {
  const lines = [
    '',
    'Aktive Verbindungen',
    '',
    '  Proto  Lokale Adresse         Remoteadresse          Status           PID',
    '  TCP    127.0.0.1:4010         127.0.0.1:50123        HERGESTELLT     99',
    '  TCP    127.0.0.1:50123        127.0.0.1:4010         HERGESTELLT     98',
    '  TCP    127.0.0.1:4010         0.0.0.0:0              ABHÖREN         4711',
    '  TCP    [::1]:14010            [::]:0                 ABHÖREN         4712',
  ]
  install('netstat', `cat <<'END'\n${lines.join('\r\n')}\nEND`)
  install('tasklist', `[ "$2" = "PID eq 4711" ] && printf '"node.exe","4711","Console","1","52.300 K"\\r\\n'`)
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  expect(await portHolder(4010, 'win32', [])).toBe('pid 4711 (node.exe)')
  expect(await portHolder(14010, 'win32', [])).toBe('pid 4712 (unknown)')
  expect(await portHolder(50123, 'win32', [])).toBe('another program')
  expect(await portHolder(401, 'win32', [])).toBe('another program')
})

test('macOS shows the process, its script and its folder', async () => {
  install(
    'lsof',
    `case "$*" in *-iTCP:4010*) printf 'p4711\\ncnode\\n' ;; *-p\\ 4711*) printf 'p4711\\nfcwd\\nn/Users/me/api\\n' ;; esac`,
  )
  install('ps', `echo 'node --no-warnings /usr/local/bin/prism mock --token secret'`)
  vi.stubEnv('PATH', `${folder}:${process.env.PATH}`)
  expect(await portHolder(4010, 'darwin', [])).toBe('pid 4711 (node prism in /Users/me/api)')
  expect(await portHolder(4011, 'darwin', [])).toBe('another program')
})

test('Linux shows the process, its script and its folder, and no other word of its command line', async () => {
  // Elsewhere there is no /proc.
  if (process.platform !== 'linux') return expect(await portHolder(1, 'linux', [])).toBe('another program')
  const own = realpathSync(mkdtempSync(join(tmpdir(), 'svc-ports-')))
  onTestFinished(() => rmSync(own, { recursive: true, force: true }))
  writeFileSync(
    join(own, 'mock.cjs'),
    `require('http').createServer().listen(0, '127.0.0.1', function () { console.log(this.address().port) })`,
  )
  const words = ['--no-warnings', 'mock.cjs', '--token', 'secret']
  const child = spawn(process.execPath, words, { cwd: own, stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [port] = await once(child.stdout, 'data')
  expect(await portHolder(Number(port), 'linux', [])).toBe(`pid ${child.pid} (node mock.cjs in ${own})`)
})

test('a sandbox is named with the folder of its start, which an earlier version has not written', async () => {
  const sandbox = { url: 'http://127.0.0.1:4010', pid: 4711, folder: '/srv/shop' } as Locator
  expect(await portHolder(4010, 'linux', [sandbox])).toBe('another sandbox, pid 4711, started in /srv/shop')
  const { folder: _, ...earlier } = sandbox
  expect(await portHolder(4010, 'linux', [earlier as Locator])).toBe('another sandbox, pid 4711')
})
