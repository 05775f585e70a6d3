/** One task: the work, and in parallel a sponsored slot that never delays it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { createBeacons, placementText, requestPlacement } from './sponsored.js'

/** How long a finished task waits for a decision that has not arrived. */
const usual_grace_ms = 300
/** How long the text must be the last output on the screen before it is reported as visible. */
const viewable_ms = 1_000

/**
 * Runs a task and writes to `terminal`: `{ write, columns, rows, isTTY }`. In a pipe or a log, where nobody sees it, nothing
 * is requested.
 * @returns {Promise<Showing | null>}
 */
export async function runTask(text, { settings, answer, terminal, work = preparedWork, grace_ms = usual_grace_ms }) {
  const deadline = new AbortController()
  const asked = terminal.isTTY
    ? requestPlacement(settings, answer, { text, topic: topicOf(text) }, deadline.signal).catch(() => null)
    : Promise.resolve(null)
  await work(text, (line) => terminal.write(`${line}\n`))
  const timer = setTimeout(() => deadline.abort(), grace_ms)
  const response = await asked
  clearTimeout(timer)
  return response === null ? null : show(response, settings, terminal)
}

/**
 * What is on the screen, and how to report on it.
 * @typedef {object} Showing
 * @property {string} click_url
 * @property {(signal: AbortSignal) => Promise<void>} watch reports it as visible unless `signal` is aborted first
 * @property {() => Promise<unknown>} click
 */

async function show(response, settings, terminal) {
  const lines = placementText(response, terminal.columns)
  const report = createBeacons(settings, response)
  terminal.write(`\n${lines.join('\n')}\n\n`)
  await report('render')
  return {
    click_url: response.placement.click_url,
    async watch(signal) {
      // Below it are an empty line and the next prompt.
      if (lines.length + 2 > (terminal.rows ?? 0)) return
      const from = performance.now()
      const isUndisturbed = await sleep(viewable_ms, true, { signal, ref: false }).catch(() => false)
      const visible_ms = Math.round(performance.now() - from)
      if (isUndisturbed) await report('visible', { visible_ratio: 1, visible_ms })
    },
    click: () => report('click', { user_activated: true }),
  }
}

/** Your agent: replace it. */
async function preparedWork(text, tell) {
  for (const step of ['Reading the task', 'Comparing three ways', 'Writing it down']) {
    tell(`  · ${step}`)
    await sleep(400)
  }
  tell(`\nDone: ${text}`)
}

/** Your own classifier: a few words, never the text itself. */
function topicOf(text) {
  return /coffee|espresso|grinder/i.test(text) ? 'coffee' : 'software'
}
