/** The page that chats of tasks have: what its user does, and what a first slot in it has to be. */
import type { Page } from 'playwright-core'
import { valueAt } from '#foundation/json.ts'
import { patience_ms, type Trial, waitUntil } from './trial.ts'

export async function ask(page: Page, question: string): Promise<void> {
  const before = await page.locator('article').count()
  await page.locator('#question').fill(question)
  await page.locator('#composer button[type=submit]').click()
  await page.locator('article').nth(before).locator('p').first().waitFor({ timeout: patience_ms })
}

export async function agree(page: Page, shares = false): Promise<void> {
  await page.locator('#ads').check()
  if (shares) await page.locator('#share').check()
}

/** Waits until an ad is there, and then until its view counts. A page that shows none is not waited for as long. */
export async function awaitView(trial: Trial, page: Page, count = 1): Promise<boolean> {
  const frames = () => page.locator('iframe').count()
  if (!(await waitUntil(async () => (await frames()) > 0, patience_ms / 3))) return false
  // It may be gone again.
  await page.locator('iframe').evaluateAll(([frame]) => frame?.scrollIntoView({ block: 'center' }))
  return trial.billed(count)
}

/** Asks without consent, then with it; the ad of the turn with consent has to be seen. A second visitor is another session. */
export async function gradeFirstSlot(trial: Trial, words: readonly string[], hasVisitors = false): Promise<void> {
  const url = await trial.serve(words)
  let early = 0
  let isSeen = false
  let answers = 0
  await trial.browse(url, async (page) => {
    await ask(page, 'What is a ristretto?')
    // Whatever this turn asks for has been sent when the next one is answered.
    await ask(page, 'And a lungo?')
    early = (await trial.journal()).placements.length
    await agree(page)
    await ask(page, 'Which grinder do you like?')
    isSeen = await awaitView(trial, page)
    answers = await page.getByText('Weigh it').count()
  })
  trial.check('answers_missing', answers >= 3, `The page shows ${answers} of its 3 answers.`)
  trial.check('asked_without_consent', early === 0, `${early} placements were requested before the user agreed.`)
  const { placements, exchanges } = await trial.journal()
  const count = placements.length - early
  trial.check('not_one_placement', count <= 1, `One turn with consent requested ${count} placements.`)
  const isShared = exchanges.some(({ request_body }) => valueAt(request_body, 'prompt') !== undefined)
  trial.check('topic_not_shared', !isShared, 'A topic was sent for a user who has not agreed to that.')
  trial.check('view_not_billed', isSeen, 'No view of an ad counted in the turn with consent.')
  if (hasVisitors) await checkSessions(trial, url)
}

async function checkSessions(trial: Trial, url: string): Promise<void> {
  const { placements: before } = await trial.journal()
  const [first] = before
  await trial.browse(url, async (page) => {
    await agree(page)
    await ask(page, 'What does a second visitor ask?')
    await waitUntil(async () => (await trial.journal()).placements.length > before.length, patience_ms / 3)
  })
  const sessions = (await trial.journal()).placements.map(({ session_id }) => session_id)
  const shared = sessions.filter((session) => session === first?.session_id).length
  trial.check('session_shared', shared <= 1, 'Two visitors have the same session.')
}
