/** `beacons tail` on the whole screen, in each kind of terminal. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { System } from '#cli/run/system.ts'
import { openScript } from '#tests/cli/script-terminal.ts'
import { keys, listed, type Open, openStage, restored, shows, textOf } from '#tests/cli/tail-stage.ts'
import { svc } from '#tests/cli/test-cli.ts'
import { isTmuxInstalled, openTmux } from '#tests/cli/tmux-terminal.ts'
import { temporaryDirectory } from '#tests/temporary.ts'

const script: [name: string, open: Open] = ['script(1)', openScript]
const tmux: [name: string, open: Open] = ['tmux', openTmux]
if (!isTmuxInstalled) console.warn('tmux is not installed: tried over a terminal of script(1) alone.')

/** Real time, for a sandbox that has it too. */
const realTime: Partial<System> = { now: () => Date.now() }

describe.each(isTmuxInstalled ? [script, tmux] : [script])('in a terminal of %s', (_name, open) => {
  test('the list follows, moves, pauses, filters and searches', async () => {
    const stage = await openStage(open)
    const { terminal, beacon } = stage
    await shows(terminal, '● live', 'No new beacon yet.', 'following')
    expect([terminal.isAlternate(), terminal.isCursorShown()]).toEqual([true, false])
    await expect
      .poll(() => textOf(terminal))
      .toContain('render  visible  click  completion  heartbeat  play_started  play_completed')

    const slot = await stage.fill()
    await beacon(slot, 'render')
    await beacon(slot, 'visible', { visible_ratio: 1, visible_ms: 2_000 })
    await stage.reject()
    await shows(terminal, '3 beacons   0 duplicate   1 rejected   1 would bill')
    const line = (event: string) =>
      terminal.lines().find((line) => line.includes(`  ${event} `) && /\d:\d\d/.test(line))
    expect(line('render')).toMatch(
      /^ {2}\d\d:\d\d:\d\d\.\d{3} {2}render {10}banner {2}slot_\w{11} {2}✓ accepted {7}no$/,
    )
    expect(line('visible')).toMatch(/✓ accepted {7}yes$/)
    expect(line('click')).toMatch(/click {11}- {7}- {17}✗ asset_token_invalid$/)

    terminal.type(`${keys.up}k`)
    await shows(terminal, '1 of 3')
    expect(line('render')).toMatch(/^› /)
    await beacon(slot, 'heartbeat')
    await shows(terminal, '1 of 4')
    terminal.type('jjj')
    await shows(terminal, 'following')

    terminal.type(' ')
    await shows(terminal, 'paused, 0 held')
    await beacon(slot, 'heartbeat')
    await shows(terminal, 'paused, 1 held', '5 beacons')
    await expect.poll(() => listed(terminal)).toHaveLength(4)
    terminal.type(' ')
    await expect.poll(() => listed(terminal).length).toBe(5)

    terminal.type('f')
    await shows(terminal, 'Filter', '‹ all ›')
    terminal.type('jjl')
    terminal.type('ll')
    await shows(terminal, '‹ rejected ›')
    terminal.type('f')
    await shows(terminal, 'only rejected')
    await expect.poll(() => listed(terminal)).toEqual([expect.stringContaining('asset_token_invalid')])
    terminal.type('fl')
    terminal.type('f')
    await shows(terminal, 'None of 5 beacons passes the filter.', 'only render, rejected')
    terminal.type('fhjjl')
    terminal.type('f/VISX')
    await shows(terminal, '/VISX')
    terminal.type(`${keys.backspace}I${keys.enter}`)
    await shows(terminal, 'only /VISI')
    await expect.poll(() => listed(terminal)).toEqual([expect.stringContaining('visible')])

    terminal.type('?')
    await shows(terminal, 'replay: send this beacon again')
    terminal.type('q')
    terminal.type('c')
    await shows(terminal, 'Cleared.', '0 beacons', 'No new beacon yet.')
    await restored(terminal, 'q', 0)
  })

  test('details show the timeline of the slot, its consent and evidence; replay reports a duplicate', async () => {
    const stage = await openStage(open)
    const { terminal } = stage
    const run = (args: string) => svc(args, { env: { SVC_HOME: stage.home }, system: realTime })
    expect(await run('placements create --format banner')).toMatchObject({ code: 0 })
    expect(await run('beacons send --event render --set beacon_id=tail_render_1')).toMatchObject({ code: 0 })
    await shows(terminal, '1 beacon ')
    terminal.type(keys.enter)
    await shows(
      terminal,
      'tail_render_1',
      '● decision',
      '● render',
      '○ visible',
      'Consent  granted, revision 1',
      'Evidence entry',
    )
    await expect.poll(() => textOf(terminal)).toMatch(/Evidence entry \d+, .+Z, consent revision 1\n +[0-9a-f]{64}/)

    terminal.type('r')
    await shows(terminal, 'Sent again: duplicate, it was received before.')
    terminal.type('q')
    await shows(terminal, '2 beacons   1 duplicate')
    await expect.poll(() => listed(terminal).at(-1)).toContain('= duplicate')

    await stage.beacon(await stage.fill(), 'render')
    await shows(terminal, '3 beacons')
    terminal.type('Gr')
    await shows(terminal, 'Sent again: duplicate', '4 beacons   2 duplicate')
    await stage.reject()
    await shows(terminal, '5 beacons')
    terminal.type('r')
    await shows(terminal, 'Sent again: refused with 400, asset_token_invalid.', '6 beacons')
    terminal.type(keys.enter)
    await shows(terminal, 'Request req_', 'hint: ', 'beacon_id: "tail_rejected"')
    const request_id = /Request (req_\w+)/.exec(textOf(terminal))?.[1] ?? ''
    terminal.type('y')
    await shows(terminal, 'Copied tail_rejected')
    await expect.poll(() => terminal.clipboard()).toBe('tail_rejected')
    terminal.type('Y')
    await shows(terminal, `Copied the curl command of ${request_id}.`)
    const { stdout: curl } = await run(`requests show ${request_id} --curl`)
    await expect.poll(() => terminal.clipboard().trim()).toBe(curl.trim())
    terminal.type('q')

    terminal.type('o')
    await shows(terminal, `Opened ${stage.sandbox().inspector_url}`)
    await expect
      .poll(() => existsSync(stage.opened) && readFileSync(stage.opened, 'utf8'))
      .toBe(`${stage.sandbox().inspector_url}\n`)
    writeFileSync(join(stage.home, 'no-browser'), '')
    terminal.type('o')
    await shows(terminal, `No browser here. Open ${stage.sandbox().inspector_url}`)
    terminal.type(`${keys.up}k`)
    await shows(terminal, '4 of 6')
    terminal.type('o')
    await shows(terminal, `No browser here. Open ${stage.sandbox().url}/_sandbox/id/slot_`)
    await restored(terminal, 'q', 0)
  })

  test('Ctrl-Z gives the terminal back, and fg draws again; pasted text is text, not keys', async () => {
    const stage = await openStage(open, '', '', true)
    const { terminal } = stage
    await stage.beacon(await stage.fill(), 'render')
    await shows(terminal, '1 beacon ')
    terminal.type(keys.ctrl_z)
    await shows(terminal, 'stopped ', 'echoctl')
    expect([terminal.isAlternate(), terminal.isCursorShown()]).toEqual([false, true])
    expect(textOf(terminal).split(/[\s;]+/)).toEqual(expect.arrayContaining(['echo', 'icanon', 'isig', 'icrnl']))
    terminal.type(keys.enter)
    await shows(terminal, '1 beacon ', '● live')
    expect(terminal.isAlternate()).toBe(true)

    terminal.type('\u001b[200~q\rfc\u001b[201~')
    await shows(terminal, 'To search for pasted text, press / first.', '1 beacon ')
    terminal.type('/')
    await shows(terminal, 'enter keeps')
    terminal.type('\u001b[200~ ren\u0007\u001b]0;x\u0007d\u202eer\rq\n\u001b[201~')
    await shows(terminal, '/ren]0;xder q')
    terminal.type(keys.backspace.repeat(13))
    terminal.type('REN')
    await shows(terminal, '/REN')
    terminal.type(keys.enter)
    await shows(terminal, 'only /REN')
    await restored(terminal, 'q', 0)
  })

  test('it survives a resize and a restart of the sandbox, and misses nothing', async () => {
    const stage = await openStage(open, '--since 10m')
    const { terminal } = stage
    const slot = await stage.fill()
    await stage.beacon(slot, 'render')
    await shows(terminal, '1 beacon ')
    terminal.resize(140, 40)
    await shows(terminal, 'session ')
    await expect.poll(() => terminal.lines()[38]).toMatch(/^following/)
    terminal.resize(80, 24)
    await expect.poll(() => terminal.lines()[22]).toMatch(/^following/)
    expect(textOf(terminal)).not.toContain('session ')
    terminal.resize(60, 20)
    await expect.poll(() => terminal.lines()[18]).toMatch(/^following {3}\? help/)
    await expect.poll(() => listed(terminal)).toEqual([expect.stringMatching(/render {10}banner {2}✓ accepted {9}no$/)])
    terminal.resize(80, 24)

    await stage.stop()
    await shows(terminal, '○ reconnecting', 'Connection lost')
    await stage.restart()
    await stage.beacon(slot, 'heartbeat')
    await shows(terminal, '● live', `Reconnected to ${stage.sandbox().url}.`, '2 beacons')
    await restored(terminal, keys.ctrl_c, 130)
    expect(textOf(terminal)).not.toContain('error')
  })

  test('SIGTERM and an uncaught error restore the terminal', async () => {
    const stage = await openStage(open)
    process.kill(stage.terminal.pid(), 'SIGTERM')
    await restored(stage.terminal, '', 130)
    await shows(stage.terminal, 'error: Interrupted by SIGTERM.')

    const failing = await openStage(open, '', `process.on('SIGUSR2', () => { throw new Error('it broke') })`)
    process.kill(failing.terminal.pid(), 'SIGUSR2')
    await restored(failing.terminal, '', 1)
  })
})

test('a service that cannot be reached is reported without taking over the terminal', async () => {
  const home = temporaryDirectory()
  const terminal = await openScript('beacons tail', { SVC_HOME: home, SVC_BASE_URL: 'http://127.0.0.1:1' })
  onTestFinished(() => terminal.close())
  await shows(terminal, 'error: http://127.0.0.1:1 cannot be reached', 'code 7')
  expect(terminal.screen).toMatchObject({ is_alternate: false, is_cursor_shown: true, clears: 0 })
  const without = await openScript('sandbox logs', { SVC_HOME: home })
  onTestFinished(() => without.close())
  await shows(without, 'error: No sandbox is running.', 'code 7')
})
