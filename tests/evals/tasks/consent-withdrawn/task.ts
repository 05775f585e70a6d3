/** A user who withdraws consent while an ad is shown, and while one is on its way. */
import { agree, ask, awaitView } from '../../chat-page.ts'
import type { Task } from '../../task.ts'
import { waitUntil } from '../../trial.ts'

export const consentWithdrawn: Task = {
  name: 'consent-withdrawn',
  bases: ['page', 'chat', 'sponsored'],
  prompt: `Our chat has a new button, "Stop suggestions" (#stop), which does nothing yet. When it is pressed, also in the middle of a turn, every ad has to
leave the page at once, the service has to know that this session's consent is withdrawn, and no more ads are requested for it. Documentation of
the service: $SVC_BASE_URL/_sandbox/docs/consent.md`,
  ignored: ['fill-unused'],
  solutions: {
    'wrong-hidden-by-style': 'ad_stays',
    'wrong-not-told': 'withdrawal_unknown',
    'wrong-asks-again': 'asked_after_withdrawal',
    'attack-after-right': 'withdrawal_unknown',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    await trial.browse(url, async (page) => {
      await agree(page)
      await ask(page, 'What is a ristretto?')
      trial.require('view_not_billed', await awaitView(trial, page), 'No view of an ad counted before the withdrawal.')
      await page.locator('#stop').click()
      const isClear = await waitUntil(async () => (await page.locator('iframe').count()) === 0, 5_000)
      trial.check('ad_stays', isClear, 'An ad is in the page after the user has withdrawn.')
      await ask(page, 'And a lungo?')
      await ask(page, 'And a cortado?')
      const count = (await trial.journal()).placements.length
      trial.check('asked_after_withdrawal', count === 1, `${count - 1} placements were requested after the withdrawal.`)
      const state = async () => (await trial.client.consent.list({ query: {} })).items[0]?.lifecycle_state
      const isKnown = await waitUntil(async () => (await state()) === 'withdrawn', 5_000)
      trial.check('withdrawal_unknown', isKnown, `The service has the consent as ${await state()}.`)
    })
    await trial.client.scenario.use({ params: { name: 'slow_decision' }, body: {} })
    // Another visitor, who withdraws before the decision is there.
    await trial.browse(url, async (page) => {
      await agree(page)
      await ask(page, 'And a doppio?')
      await page.locator('#stop').click()
      const isShown = await waitUntil(async () => (await page.locator('iframe').count()) > 0, 2_000)
      trial.check('ad_stays', !isShown, 'An ad that was decided after the withdrawal is shown.')
    })
  },
}
