/** A clip, which counts as completed only when it was really played to its end. */
import { oneCampaign } from '#tests/browser/campaign.ts'
import { agree, ask } from '../../chat-page.ts'
import type { Task } from '../../task.ts'
import { waitUntil } from '../../trial.ts'

export const clipCompletes: Task = {
  name: 'clip-completes',
  bases: ['page', 'chat', 'sponsored'],
  prompt: `Our chat waits long for pictures now, so we want clips instead of banners: job type "image", format clip, up to 640 x 360. Each clip has to be
able to play to its end; an ad goes only when the user asks the next question. Documentation: $SVC_BASE_URL/_sandbox/docs/renderer.md`,
  // Its clip has six seconds: who waits for fifteen tests nothing else.
  sandbox: { demand: oneCampaign() },
  solutions: {
    'wrong-banner-too': 'no_clip',
    'wrong-own-video': 'no_clip',
    'wrong-cleared-early': 'clip_not_completed',
    'attack-after-right': 'beacon_forged',
  },
  async grade(trial) {
    const url = await trial.serve(['node', 'server.js'])
    const has = async (event: string) =>
      (await trial.beacons()).some(
        (each) => each.event === event && each.verdict === 'accepted' && each.format === 'clip',
      )
    await trial.browse(url, async (page) => {
      await agree(page)
      await ask(page, 'Draw a cortado')
      await page
        .locator('iframe')
        .first()
        .waitFor({ timeout: 5_000 })
        .catch(() => {})
      trial.require('no_clip', await waitUntil(() => has('play_started'), 6_000), 'No clip has started to play.')
      const isWhole = await waitUntil(
        async () => (await has('play_completed')) || (await page.locator('iframe').count()) === 0,
      )
      trial.check('clip_not_completed', isWhole && (await has('play_completed')), 'The clip did not play to its end.')
      trial.check('view_not_billed', await trial.billed(1), 'The view of the clip does not count.')
    })
  },
}
