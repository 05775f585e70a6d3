/**
 * Runs shell blocks. Commands of svc run in this process, which takes milliseconds, also where a shell is around them; only a
 * block that starts sandboxes has processes of svc. All find the sandbox of their page.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import { writeLocator } from '#cli/settings/state-directory.ts'
import { type Sandbox, startSandbox } from '#sandbox/index.ts'
import { runInProcess } from '#tests/cli/in-process.ts'
import { root } from '#tests/cli/process.ts'
import { type Result, svc, temporaryDirectory } from '#tests/cli/test-cli.ts'
import type { Block } from './markdown.ts'

/** What a page is run with. */
export interface Page {
  /** Where the commands run. */
  directory: string
  /** Its state directory. */
  home: string
  /** The sandbox that its commands find: with a clock that runs. */
  sandbox: Sandbox
  [Symbol.asyncDispose](): Promise<void>
}

/** The address in the documentation: that of a sandbox on its default port. */
const writtenAddress = 'http://127.0.0.1:4010'

export async function openPage(): Promise<Page> {
  const home = temporaryDirectory()
  const sandbox = await startSandbox({ seed: 1 })
  const { url, inspector_url, database, pid, version, projects } = sandbox
  const started_at_ms = Date.now()
  await writeLocator(home, { url, inspector_url, database, pid, version, projects, started_at_ms })
  return { directory: temporaryDirectory(), home, sandbox, [Symbol.asyncDispose]: () => sandbox.close() }
}

/** Writes the file that a block is, as a reader would; with the package beside it for what imports it. */
export function writeFile({ directory }: Pick<Page, 'directory'>, name: string, text: string): void {
  mkdirSync(dirname(join(directory, name)), { recursive: true })
  writeFileSync(join(directory, name), text)
  linkPackages(directory)
}

export function linkPackages(directory: string): void {
  for (const name of [
    'svc-sandbox',
    'vitest',
    '@playwright/test',
    'typescript',
    '@types/node',
    'react',
    '@types/react',
    // The lists and chats of Chat lists.
    '@ai-sdk/react',
    '@tanstack/react-virtual',
    'ai',
    'marked',
    'react-virtuoso',
    'react-window',
  ]) {
    const link = join(directory, 'node_modules', name)
    if (existsSync(link)) continue
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(name === 'svc-sandbox' ? root : join(root, 'node_modules', name), link)
  }
  if (!existsSync(join(directory, 'package.json')))
    writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
}

/** Runs a block to its end. What it prints is both streams together. */
export async function runBlock(page: Page, block: Block): Promise<{ code: number; output: string }> {
  const { url } = page.sandbox
  const text = block.text.replaceAll(/npx svc(-sandbox)?/g, 'svc').replaceAll(writtenAddress, url)
  const commands = listCommands(text)
  const isPlain = !('own' in block.flags) && commands.every((command) => plainCommand.test(command))
  const home = 'own' in block.flags ? temporaryDirectory() : page.home
  const { code, output } = isPlain ? await runPlain(page, commands) : await runShell(page, home, text)
  return { code, output: output.replaceAll(url, writtenAddress) }
}

/** A call of svc with words, numbers and texts in single quotes; none that runs another program. */
const plainCommand = /^svc(?!.* -- )( ([\w@%+=:,./*[\]-]+|'[^']*'|[\w@%+=:,./-]+'[^']*'))*$/

/** Returns the commands of a text: lines without comments, those that end with a backslash joined. */
export function listCommands(text: string): string[] {
  return text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s+)#\s.*$/, '').trim())
    .filter((line) => line !== '')
}

async function runPlain(page: Page, commands: readonly string[]): Promise<{ code: number; output: string }> {
  let output = ''
  for (const [at, command] of commands.entries()) {
    const args = command.replace(/^svc ?/, '').replace(/(\S+=)'([^']*)'/g, "'$1$2'")
    const { code, stdout, stderr } = await (/^start( |$)/.test(args) ? runStart(args) : runInPage(page, args))
    output += stdout + stderr
    if (code !== 0) return { code: at === commands.length - 1 ? code : -1, output: `${output}\n${command}` }
  }
  return { code: 0, output }
}

function runInPage({ directory, home }: Page, args: string): Promise<Result> {
  return svc(args, { cwd: directory, env: { SVC_HOME: home }, system: { now: Date.now } })
}

/** Starts a sandbox as a block does, and stops it by Ctrl-C when it is ready. */
async function runStart(args: string): Promise<Result> {
  const free = args.includes('--port') ? args : `${args} --port 0`
  const sandbox = await runInProcess(free, { env: { SVC_HOME: temporaryDirectory() } })
  return sandbox.end('SIGINT')
}

/**
 * Runs a text in a shell. There `svc` is this checkout: a process of its own for a block that starts sandboxes, otherwise a
 * script that has this process run the command.
 */
async function runShell(page: Page, home: string, text: string): Promise<{ code: number; output: string }> {
  const bin = join(home, 'bin')
  const isOwn = home !== page.home
  mkdirSync(bin, { recursive: true })
  const script = isOwn ? `exec "${process.execPath}" "${join(root, 'bin/svc.js')}" "$@"` : askPage
  writeFileSync(join(bin, 'svc'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  let output = ''
  const keep = (chunk: unknown) => {
    output += String(chunk)
  }
  await using server = isOwn ? null : await serveCommands(page, keep)
  const path = [bin, dirname(process.execPath), join(root, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const env = { PATH: path, SVC_HOME: home, HOME: home, TMPDIR: tmpdir(), NO_COLOR: '1', PAGE: server?.url ?? '' }
  const child = spawn('sh', ['-eu'], { cwd: page.directory, env, stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(text)
  for (const stream of [child.stdout, child.stderr]) stream.on('data', keep)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code: code ?? -1, output }
}

/** Sends the words of a command, and prints what it printed; the exit code is the last line of the response. */
const askPage = `
printed=$(printf '%s\\n' "$@" | curl -s --data-binary @- "$PAGE"; echo .)
printed=\${printed%.}
code=\${printed##*:}
printf '%s' "\${printed%:*}"
exit "$code"`

/** Runs the commands that the script above sends, their words one a line. */
async function serveCommands(page: Page, onStderr: (text: string) => void) {
  const server = createServer(async (request, response) => {
    const words = (await readText(request)).trimEnd().split('\n')
    const { code, stdout, stderr } = await runInPage(page, words.map((word) => `'${word}'`).join(' '))
    onStderr(stderr)
    response.end(`${stdout}:${code}`)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => void server.close() }
}

/** Returns the line that is shown and not printed; null when all are printed in their order. `...` stands for any lines. */
export function missingLine(shown: string, printed: string): string | null {
  const lines = printed.split('\n').map(loosely)
  let at = 0
  for (const line of shown.split('\n')) {
    if (line.trim() === '' || line.trim() === '...') continue
    const wanted = loosely(line)
    const found = lines.findIndex((other, index) => index >= at && other.includes(wanted))
    if (found === -1) return line
    at = found + 1
  }
  return null
}

/** Replaces what differs from run to run: ids, tokens, ports, times, durations, sizes and the widths of columns. */
function loosely(line: string): string {
  return line
    .replace(/\b(slot|job|req|ast|at|bt|cns|key|proj|cmp|evt|rpl|flt)_[0-9a-zA-Z_-]{6,}/g, '$1_ID')
    .replace(/\b(sk|pk)_(test|live)_[\w-]{12,}/g, '$1_$2_KEY')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replace(/\b\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replace(/\b\d\d:\d\d:\d\d(\.\d+)?/g, 'TIME')
    .replace(/\b\d{13}\b/g, 'TIME')
    .replace(/\b\d+(\.\d+)? ?(ms|s|min|h|kB|MB|B)\b/g, 'N')
    .replace(/\b[0-9a-f]{8,}\b/g, 'HASH')
    .replace(/\s+/g, ' ')
    .trim()
}
