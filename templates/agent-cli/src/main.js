/** The terminal: asks for consent once, then for tasks. */
import { spawn } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { runTask } from './agent.js'
import { readAnswer, writeAnswer } from './consent.js'
import { readSettings } from './settings.js'
import { safeUrl, withdraw } from './sponsored.js'

const file = process.env.AGENT_CONSENT_FILE ?? join(homedir(), '.config', 'agent-cli', 'consent.json')
const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true
const settings = settingsOrExit()
const input = createInterface({ input: process.stdin, output: process.stdout, terminal: isTerminal })
let answer = readAnswer(file)
let showing = null

if (answer === null && isTerminal) answer = await askConsent()
if (isTerminal) console.log('A task, "open" for the suggestion, "consent" to change your answer, or Ctrl-D.\n')
prompt()
// Each line waits for the previous one, even when all arrive from a pipe at once.
for await (const line of input) {
  await obey(line.trim()).catch((error) => console.error(error.message))
  prompt()
}

async function obey(line) {
  if (line === '') return
  if (line === 'consent') {
    answer = await changeConsent()
  } else if (line === 'open') {
    await openSuggestion()
  } else {
    showing = await runTask(line, { settings, answer, terminal: process.stdout })
    if (showing !== null) watch()
  }
}

/** The text counts as visible while it is the last output on the screen: until the next key press. */
function watch() {
  const disturbed = new AbortController()
  process.stdin.once('data', () => disturbed.abort())
  input.once('close', () => disturbed.abort())
  void showing.watch(disturbed.signal)
}

async function openSuggestion() {
  const url = showing === null ? null : safeUrl(showing.click_url)
  if (url === null) return console.log('There is no suggestion to open.')
  await showing.click()
  console.log(url)
  const [command, ...args] =
    process.platform === 'darwin'
      ? ['open']
      : process.platform === 'win32'
        ? ['rundll32', 'url.dll,FileProtocolHandler']
        : ['xdg-open']
  const opener = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
  // Without a browser, the URL is still on the screen.
  opener.once('error', () => {})
  opener.unref()
}

async function askConsent() {
  console.log('This agent can end a task with one sponsored suggestion, marked as such.')
  if (!(await yes('Show them?'))) return writeAnswer(file, false)
  const semantic_targeting = await yes('Match them to the topic of your task?')
  const prompt_shared = await yes('Share the text of your task for that?')
  return writeAnswer(file, true, { semantic_targeting, prompt_shared })
}

async function changeConsent() {
  const before = answer
  // Revoked first: whatever happens next, the old answer is no longer used.
  answer = writeAnswer(file, false)
  showing = null
  if (before?.granted) await withdraw(settings, before.session_id)
  return askConsent()
}

async function yes(question) {
  return /^y(es)?$/i.test((await input.question(`${question} [y/N] `)).trim())
}

function prompt() {
  if (!isTerminal) return
  input.setPrompt('> ')
  input.prompt()
}

function settingsOrExit() {
  try {
    return readSettings(process.env)
  } catch (error) {
    console.error(error.message)
    return process.exit(1)
  }
}
