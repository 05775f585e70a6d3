/** The inspector at the widths of a desk, a tablet and a phone. */
import { expect, test } from 'vitest'
import { stage } from '#tests/http/stage.ts'
import { openInspector } from './inspector-page.ts'

test('the button that copies code covers none of it, down to a phone', async () => {
  await using on = await stage()
  await using inspector = await openInspector(on.sandbox)
  const blocks = inspector.page.locator('.code')
  for (const width of [1_100, 768, 390]) {
    await inspector.page.setViewportSize({ width, height: 900 })
    const covered = await blocks.evaluateAll(
      (blocks) =>
        blocks.filter((block) => {
          const code = block.querySelector('.scroller')!.getBoundingClientRect()
          const copy = block.querySelector('.copy')!.getBoundingClientRect()
          return copy.width === 0 || copy.left < code.right || copy.right > block.getBoundingClientRect().right
        }).length,
    )
    expect({ width, blocks: await blocks.count(), covered }).toEqual({ width, blocks: 2, covered: 0 })
  }
})

test('no tab is cut off, down to a phone', async () => {
  await using on = await stage()
  await using inspector = await openInspector(on.sandbox, '/controls')
  const { page } = inspector
  for (const width of [1_100, 768, 390]) {
    await page.setViewportSize({ width, height: 900 })
    const lists = await page
      .getByRole('tablist')
      .evaluateAll((found) => found.map((list) => list.scrollWidth - list.clientWidth))
    expect({ width, lists }).toEqual({ width, lists: [0] })
  }
})
