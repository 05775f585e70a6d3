/** A list that draws a message again and again: its ad is requested once, counts once, and is there whenever its message is. */
import type { Task } from '../../task.ts'
import { waitUntil } from '../../trial.ts'

export const virtualList: Task = {
  name: 'virtual-list',
  bases: ['page', 'chat', 'sponsored'],
  prompt: `public/list.js draws our messages as a virtual list: a row that leaves the window is thrown away, and drawn anew when it comes back. Show an ad
below the text of each message that isNew, for users who have ticked the box. It must be requested once for a message, count once, and be there
again when its row is. The server has a route for it: POST /api/placement with { "ads": true }. Documentation: $SVC_BASE_URL/_sandbox/docs/chat-lists.md`,
  solutions: {
    'wrong-new-turn-each-time': 'asked_again',
    'wrong-first-time-only': 'ad_gone',
    'wrong-ended-with-its-row': 'asked_again',
    'attack-after-right': 'ad_missing',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    await trial.browse(url, async (page) => {
      const isThere = () => waitUntil(async () => (await page.locator('#m0 iframe').count()) === 1, 5_000)
      const scrollTo = (top: number) => page.locator('#list').evaluate((list, px) => list.scrollTo(0, px), top)
      await page.waitForTimeout(300)
      trial.check(
        'asked_without_consent',
        (await countPlacements()) === 0,
        'A placement was requested before the user agreed.',
      )
      await page.locator('#ads').check()
      trial.require('ad_missing', await isThere(), 'The message has no ad below its text.')
      trial.require('view_not_billed', await trial.billed(1), 'No view of an ad counted.')
      for (const top of [9_000, 0, 6_000, 0]) {
        await scrollTo(top)
        await page.locator(`#m${top / 300}`).waitFor()
      }
      trial.check('ad_gone', await isThere(), 'The message came back, and its ad did not.')
      // As long as another view would take.
      await page.waitForTimeout(1_500)
    })
    const count = await countPlacements()
    trial.check('asked_again', count === 1, `One message requested ${count} placements.`)
    const billed = (await trial.beacons()).filter(({ would_bill }) => would_bill).length
    trial.check('counted_again', billed === 1, `One message would bill ${billed} views.`)

    async function countPlacements(): Promise<number> {
      return (await trial.journal()).placements.length
    }
  },
}
