// Makes demand.json, creatives/ and test-assets/ from campaigns.mjs, and the pictures of demo/ from paintings.mjs.
//   node build/creatives/make.mjs [demand|banners|natives|clips|test-assets|pictures] [slug ...]
// Without a word everything is made; slugs limit creatives to some sponsors.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openBrowser, writeClips, writePng, writeWebp } from './browser.mjs'
import { campaigns } from './campaigns.mjs'
import { CLIP, clip, POSTER_AT_MS } from './clip.mjs'
import { CLIP_SIZES, demand } from './demand.mjs'
import { banner, icon, nativeImage } from './layouts.mjs'
import { prompts } from './paintings.mjs'
import { chord } from './sound.mjs'
import { BANNERS, CLIPS, testBanner, testClip } from './test-assets.mjs'

const fixtures = fileURLToPath(new URL('../../fixtures/', import.meta.url))
const creative = (slug, name) => join(fixtures, 'creatives', slug, name)
const testAsset = (name) => join(fixtures, 'test-assets', name)
const sizes = CLIP_SIZES.map((size) => ({
  size,
  width: Number(size.split('x')[0]),
  height: Number(size.split('x')[1]),
}))

const makers = {
  demand: () => writeFileSync(join(fixtures, 'demand.json'), `${JSON.stringify(demand(), null, 2)}\n`),

  async banners(browser, sponsors) {
    for (const sponsor of sponsors) {
      for (const size of sponsor.sizes ?? []) {
        const [width, height] = size.split('x').map(Number)
        writeWebp(
          creative(sponsor.slug, `banner-${size}.webp`),
          await browser.still(banner(sponsor, width, height), width, height),
        )
      }
    }
  },

  async natives(browser, sponsors) {
    for (const sponsor of sponsors.filter(({ native }) => native)) {
      writeWebp(creative(sponsor.slug, 'native.webp'), await browser.still(nativeImage(sponsor), 600, 314))
      writeWebp(creative(sponsor.slug, 'icon.webp'), await browser.still(icon(sponsor), 128, 128))
    }
  },

  async clips(browser, sponsors) {
    for (const sponsor of sponsors.filter(({ clip }) => clip)) {
      const outputs = sizes.map(({ size, width, height }) => ({
        width,
        height,
        file: creative(sponsor.slug, `clip-${size}.mp4`),
      }))
      await film(browser, clip(sponsor, sponsor.clip), {
        name: sponsor.slug,
        seconds: sponsor.clip,
        outputs,
        posterAt: POSTER_AT_MS,
        crf: 29,
      })
    }
  },

  async 'test-assets'(browser) {
    for (const [width, height] of BANNERS) {
      writePng(
        testAsset(`banner-${width}x${height}.png`),
        await browser.still(testBanner(width, height), width, height),
      )
    }
    for (const { size, width, height } of sizes) {
      for (const seconds of CLIPS) {
        const outputs = [{ width, height, file: testAsset(`clip-${size}-${seconds}s.mp4`) }]
        await film(browser, testClip(width, height, seconds), { name: 'test', seconds, outputs, posterAt: 0, crf: 26 })
      }
    }
  },

  async pictures(browser) {
    for (const name of Object.keys(prompts)) {
      for (let index = 0; index < 4; index += 1) {
        const picture = await browser.run('paintings.mjs', 'paint', name, index, 512, 0.8)
        writeFileSync(join(fixtures, 'demo', `${name}-${index + 1}.webp`), Buffer.from(picture.split(',')[1], 'base64'))
      }
    }
  },
}

// Films a page, and keeps one of its frames as poster beside each file.
async function film(browser, html, { name, seconds, outputs, posterAt, crf }) {
  const folder = mkdtempSync(join(tmpdir(), 'fixture-'))
  const wav = join(folder, 'chord.wav')
  writeFileSync(wav, chord(name, seconds))
  const shot = { fps: CLIP.fps, seconds }
  await writeClips({ ...shot, wav, crf, outputs }, (write) =>
    browser.frames(html, CLIP.width, CLIP.height, shot, write),
  )
  const still = await browser.still(html, CLIP.width, CLIP.height, posterAt)
  for (const { file, width, height } of outputs) writeWebp(file.replace(/\.mp4$/, '.webp'), still, { width, height })
  rmSync(folder, { recursive: true })
}

const words = process.argv.slice(2)
const wanted = Object.keys(makers).filter((name) => words.includes(name))
const slugs = words.filter((word) => !makers[word])
const sponsors = slugs.length === 0 ? campaigns : campaigns.filter(({ slug }) => slugs.includes(slug))
const browser = await openBrowser()
for (const name of wanted.length === 0 ? Object.keys(makers) : wanted) {
  await makers[name](browser, sponsors)
  console.log(`made ${name}`)
}
await browser.close()
