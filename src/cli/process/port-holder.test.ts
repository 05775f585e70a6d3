/** Windows' own programs, as scripts that print what they print there. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { portHolder } from './port-holder.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-ports-'))
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

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
