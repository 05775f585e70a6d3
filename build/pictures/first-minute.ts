/**
 * The first minute: a session in terminals, and a page that shows a placement.
 *
 * Nothing in the picture is drawn: the sandbox is started, the commands are run and their output is shown as it came,
 * and a host page on another origin shows a placement whose beacons are accepted before the shutter is released.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, createServer as createProbe } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { PlacementResponse } from '#contract/resources/placements.ts'
import { launchChromium } from '#tests/browser/chromium.ts'
import { keep } from './png.ts'
import { type Poster, posterHtml, posterWidth } from './poster.ts'
import type { Run } from './terminal.ts'

const root = join(import.meta.dirname, '../..')
/** Device pixels a CSS pixel: the picture is sharp at twice the width of a readme's column. */
const scale = 1.5
const runFile = promisify(execFile)

const home = mkdtempSync(join(tmpdir(), 'svc-picture-'))

export async function makeFirstMinute(): Promise<void> {
  try {
    await photographSession()
  } finally {
    rmSync(home, { recursive: true })
  }
}

async function photographSession(): Promise<void> {
  const started = await startSandbox(`svc start --port ${await freePort(4010)} --ephemeral --seed 7`)
  try {
    const created = await svc('svc placements create --format banner --topic coffee')
    const explained = await svc('svc explain')
    const turn = await svc('svc trigger clip')
    const native = await svc('svc placements create --format native --native-template featured --topic coffee -o json')
    const response = JSON.parse(native.output) as PlacementResponse
    await photograph({
      left: [
        { title: 'the sandbox', runs: [{ ...started, lines: 9 }] },
        {
          title: 'a placement, and why it was chosen',
          runs: [
            { ...created, lines: 10 },
            { ...explained, lines: 18 },
          ],
        },
      ],
      right: { title: 'a whole turn, with its beacons', runs: [turn] },
      script_url: response.placement!.render.script_url,
      response,
    })
  } finally {
    await started.stop()
  }
}

/** Runs a command line of the checkout, in colour; without what it prints to standard error. */
async function svc(command: string): Promise<Run> {
  const { stdout } = await runFile(process.execPath, toArguments(command), { cwd: home, env: environment() })
  return { command, output: stdout }
}

/** Starts the sandbox and resolves when it has printed that it is ready. */
async function startSandbox(command: string): Promise<Run & { stop(): Promise<void> }> {
  const child = spawn(process.execPath, toArguments(command), {
    cwd: home,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const output = await new Promise<string>((resolve, reject) => {
    let text = ''
    let errors = ''
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString()
    })
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString()
      if (text.includes('Ctrl-C')) resolve(text)
    })
    child.once('close', () => reject(new Error(`The sandbox did not start: ${errors}`)))
  })
  const stop = (): Promise<void> => {
    child.kill('SIGTERM')
    return ended
  }
  return { command, output, stop }
}

function toArguments(command: string): string[] {
  return [join(root, 'bin/svc.js'), ...command.split(' ').slice(1), '--color', 'always']
}

function environment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, SVC_HOME: home }
}

async function photograph(poster: Omit<Poster, 'host'>): Promise<void> {
  const server = createServer((_request, answer) => {
    answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(posterHtml({ ...poster, host }))
  })
  const host = `localhost:${await listen(server, await freePort(3000))}`
  const browser = await launchChromium()
  try {
    const page = await browser.newPage({
      viewport: { width: posterWidth, height: 1_000 },
      deviceScaleFactor: scale,
    })
    await page.goto(`http://${host}/`)
    await page.locator('[data-event="beacon visible OK"]').waitFor()
    const screenshot = await page.locator('main').screenshot()
    await keep('first-minute', page, screenshot)
  } finally {
    await browser.close()
    server.closeAllConnections()
    server.close()
  }
}

/** The wanted port, or when it is taken another one. */
async function freePort(wanted: number): Promise<number> {
  const probe = createProbe()
  try {
    return await listen(probe, wanted)
  } catch {
    return await listen(probe, 0)
  } finally {
    await new Promise((resolve) => probe.close(resolve))
  }
}

function listen(server: Server | ReturnType<typeof createProbe>, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve((server.address() as AddressInfo).port))
  })
}
