/** A tail in a terminal, of a sandbox that the test drives. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { createClient } from '#client/index.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { type Terminal, type TerminalOptions, usualSize } from './terminal.ts'
import { noon } from './test-host.ts'

export const keys = { up: '\u001b[A', enter: '\r', backspace: '\u007f', ctrl_c: '\u0003', ctrl_z: '\u001a' }

export type Open = (args: string, env: Record<string, string>, options?: TerminalOptions) => Promise<Terminal>

/** A sandbox with a database of its own, and the tail of it in a terminal. */
export async function openStage(open: Open, args = '', preload = '', has_jobs = false) {
  const home = temporaryDirectory()
  const database = join(home, 'sandbox.db')
  let sandbox: Sandbox = await startSandbox({ database })
  const { url, inspector_url, pid, version, projects, port } = sandbox
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms: noon })
  const opened = join(home, 'opened')
  writeFileSync(join(home, 'xdg-open'), `#!/bin/sh\n[ -e "${home}/no-browser" ] && exit 3\necho "$1" > "${opened}"\n`)
  chmodSync(join(home, 'xdg-open'), 0o755)
  const environment = {
    SVC_HOME: home,
    DISPLAY: ':0',
    PATH: `${home}:${process.env.PATH}`,
    NODE_OPTIONS: preload === '' ? '' : `--import=data:text/javascript,${encodeURIComponent(preload)}`,
  }
  const terminal = await open(`beacons tail ${args}`, environment, { ...usualSize, has_jobs })
  onTestFinished(async () => {
    await terminal.close()
    await sandbox.close()
  })
  await shows(terminal, '● live')
  const client = createClient({ base_url: url, credential: sandbox.keys.secret_key })
  let beacons = 0
  return {
    home,
    opened,
    terminal,
    sandbox: () => sandbox,
    stop: () => sandbox.close(),
    async restart() {
      sandbox = await startSandbox({ database, port })
    },
    /** The asset token of a fresh banner. */
    async fill(): Promise<string> {
      const { decision } = await client.placements.create({
        body: {
          client_id: 'proj_demo',
          session_id: 'tail',
          job_type: 'chat',
          overrides: { allowed_formats: ['banner'] },
          consent: { gdpr_applies: false },
        },
      })
      if (decision?.fill !== true) throw new Error('no fill')
      return decision.asset_token
    },
    beacon: (
      asset_token: string,
      event: 'render' | 'visible' | 'heartbeat',
      measurements: { visible_ratio?: number; visible_ms?: number } = {},
    ) =>
      client.sendBeacon({
        beacon_id: `tail_beacon_${++beacons}`,
        asset_token,
        event,
        occurred_at_ms: Date.now() + (measurements.visible_ms ?? 0),
        measurements,
      }),
    reject: () =>
      client
        .sendBeacon({ beacon_id: 'tail_rejected', asset_token: 'nonsense', event: 'click', occurred_at_ms: Date.now() })
        .then(() => {
          throw new Error('accepted')
        })
        .catch((error: Error) => expect(error.message).not.toBe('accepted')),
  }
}

export function textOf(terminal: Terminal): string {
  return terminal.lines().join('\n')
}

export async function shows(terminal: Terminal, ...texts: string[]): Promise<void> {
  for (const text of texts) await expect.poll(() => textOf(terminal)).toContain(text)
}

/** The lines of beacons that the screen shows. */
export function listed(terminal: Terminal): string[] {
  return terminal.lines().filter((line) => /^[ ›] \d\d:\d\d:\d\d/.test(line))
}

/** Ends the tail: the first screen is back, with cursor, echo and whole lines. */
export async function restored(terminal: Terminal, key: string, code: number): Promise<void> {
  terminal.type(key)
  await shows(terminal, `code ${code}`, 'echoctl')
  expect([terminal.isAlternate(), terminal.isCursorShown()]).toEqual([false, true])
  const settings = textOf(terminal).split(/[\s;]+/)
  expect(settings).toEqual(expect.arrayContaining(['echo', 'icanon', 'isig', 'icrnl', 'opost']))
  // A shell with jobs has printed more above.
  if (!textOf(terminal).includes('exec ')) expect(textOf(terminal)).toContain('tty /dev/')
}
