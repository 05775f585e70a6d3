/**
 * What each format and each native template looks like on a host page: mounted by render.js from placements of the
 * emulator, label included, and photographed when all of them are painted.
 */
import { type Host, openStage, type PlaceOptions, type Stage } from '#tests/browser/stage.ts'
import { keep } from './png.ts'

interface Exhibit {
  id: string
  caption: string
  place: PlaceOptions
}

/** Banners and clips are test substitutes, as every test key gets them. */
const formats: Exhibit[] = [
  { id: 'banner', caption: 'banner, 300 × 250', place: { format: 'banner', max_width: 300, max_height: 250 } },
  { id: 'leaderboard', caption: 'banner, 728 × 90', place: { format: 'banner', max_width: 728, max_height: 90 } },
  { id: 'clip', caption: 'clip, 640 × 360', place: { format: 'clip', max_width: 640, max_height: 360 } },
  { id: 'native', caption: 'native, card', place: { format: 'native', native_template_id: 'card' } },
]

const templates: Exhibit[] = (['card', 'minimal', 'list_item', 'featured'] as const).map((native_template_id) => ({
  id: native_template_id,
  caption: native_template_id,
  place: { format: 'native', native_template_id },
}))

const schemes = ['light', 'dark'] as const

export async function makeGallery(): Promise<void> {
  await using stage = await openStage({ seed: 11 })
  await photograph(stage, 'formats', formats, 'light', formatsStyle)
  for (const scheme of schemes) await photograph(stage, `templates-${scheme}`, templates, scheme, templatesStyle)
}

async function photograph(
  stage: Stage,
  name: string,
  exhibits: Exhibit[],
  colorScheme: (typeof schemes)[number],
  layout: string,
): Promise<void> {
  const figures = exhibits.map(
    ({ id, caption }) => `<figure class="${id}"><div id="${id}"></div><figcaption>${caption}</figcaption></figure>`,
  )
  await using host = await stage.open({
    html: `<style>${style}${layout}</style><main>${figures.join('')}</main>`,
    context: { viewport: { width: 1120, height: 1000 }, deviceScaleFactor: 1.5, colorScheme },
  })
  for (const [index, { id, place }] of exhibits.entries()) await show(host, id, place, index)
  await host.waitForEvent('rendered', {}, exhibits.length)
  for (const { place } of exhibits) if (place.format === 'clip') await host.waitForEvent('visible', {}, exhibits.length)
  // Heights of native frames follow their content a moment after they are painted.
  await host.page.waitForTimeout(400)
  await keep(name, host.page, await host.page.locator('main').screenshot())
}

/** Every exhibit shows another sponsor: demand is asked by topic. */
async function show(host: Host, id: string, place: PlaceOptions, index: number): Promise<void> {
  const topics = ['coffee', 'cycling', 'gardening', 'sleep']
  const prompt = { topic: topics[index % topics.length] }
  const consent = { semantic_targeting: true, prompt_shared: false }
  await host.show({ ...place, more: { prompt, consent } }, `#${id}`)
}

const style = `
:root{color-scheme:light dark}
body{margin:0;background:light-dark(#fff,#0f1115);font:14px/1.5 system-ui,sans-serif}
main{display:grid;gap:32px;padding:32px;width:1056px;background:light-dark(#fafafa,#0f1115)}
figure{margin:0;display:flex;flex-direction:column;gap:10px}
figcaption{color:light-dark(#6b7280,#9ca3af);font-size:13px}
`
const formatsStyle = `
main{grid-template-columns:300px 1fr;align-items:start}
.leaderboard{grid-column:2;grid-row:1}
.clip{grid-column:2;grid-row:1/3;padding-top:176px}
.native{grid-column:1}
`
const templatesStyle = `
main{display:block;columns:2;column-gap:40px;padding-bottom:0}
figure{break-inside:avoid;padding-bottom:36px}
`
