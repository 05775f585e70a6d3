// Checks the fixtures against what the rest of the project may rely on. Prints every fault, and exits with 1 if there is one.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { demand as made } from './demand.mjs'
import { BANNERS, CLIPS } from './test-assets.mjs'

const root = fileURLToPath(new URL('../../fixtures/', import.meta.url))
const read = (name) => JSON.parse(readFileSync(join(root, name), 'utf8'))
const faults = []
const expect = (claim, fault) => claim || faults.push(fault)

const demand = read('demand.json')
const { topics } = read('topics.json')
const { blocked_topics } = read('content-safety.json')
const { campaigns, partners } = demand
const creatives = campaigns.flatMap((campaign) => campaign.creatives.map((creative) => ({ ...creative, campaign })))
const ofFormat = (format) => creatives.filter((creative) => creative.format === format)

checkList()
checkCoverage()
checkTopics()
checkRequests()
checkFiles()
checkTestAssets()
checkBudget()

if (faults.length > 0) {
  console.error(faults.map((fault) => `- ${fault}`).join('\n'))
  process.exitCode = 1
} else {
  console.log(
    `${partners.length} partners, ${campaigns.length} campaigns, ${ofFormat('banner').length} banners, ${ofFormat('clip').length} clips, ${ofFormat('native').length} natives, ${Object.keys(topics).length} topics: all as declared`,
  )
}

function checkList() {
  expect(
    JSON.stringify(demand) === JSON.stringify(made()),
    'demand.json is not what campaigns.mjs gives: run make.mjs demand',
  )
  for (const [kind, ids] of [
    ['partner_id', partners.map((p) => p.partner_id)],
    ['campaign_id', campaigns.map((c) => c.campaign_id)],
    ['creative_id', creatives.map((c) => c.creative_id)],
  ]) {
    for (const id of ids) expect(ids.indexOf(id) === ids.lastIndexOf(id), `${kind} ${id} is not unique`)
  }
  for (const campaign of campaigns) {
    const { campaign_id: id, landing_domain, click_url, iab_categories, flight } = campaign
    expect(
      partners.some((partner) => partner.partner_id === campaign.partner_id),
      `${id} names an unknown partner`,
    )
    expect(
      landing_domain.endsWith('.example') &&
        new URL(click_url).hostname === landing_domain &&
        click_url.startsWith('https:'),
      `${id} must lead to its own .example domain over https`,
    )
    expect(
      iab_categories.length > 0 && iab_categories.every((code) => /^IAB([1-9]|1\d|2[0-6])(-\d{1,2})?$/.test(code)),
      `${id} has a category that is not of IAB 1.0`,
    )
    expect(
      campaign.countries.every((code) => /^[A-Z]{2}$/.test(code)),
      `${id} has a country that is not ISO 3166-1 alpha-2`,
    )
    expect(campaign.price_cpm > 0 && /^[A-Z]{3}$/.test(campaign.currency), `${id} has no usable price`)
    expect(
      flight.starts_at_ms === null || flight.ends_at_ms === null || flight.starts_at_ms < flight.ends_at_ms,
      `${id} ends before it starts`,
    )
  }
}

function checkCoverage() {
  const atLeast = (count, min, what) => expect(count >= min, `${what}: ${count}, at least ${min} are needed`)
  const bannerSizes = (campaign) =>
    campaign.creatives.filter(({ format }) => format === 'banner').map(({ width, height }) => `${width}x${height}`)
  const has = (campaign, format) => campaign.creatives.some((creative) => creative.format === format)
  const all = BANNERS.map((size) => size.join('x'))
  const whole = campaigns.filter((campaign) => all.every((size) => bannerSizes(campaign).includes(size)))
  const usd = campaigns.filter(({ currency }) => currency === 'USD')
  atLeast(campaigns.length, 26, 'campaigns')
  atLeast(whole.length, 10, 'campaigns with all banner sizes')
  atLeast(
    campaigns.filter((campaign) => has(campaign, 'banner') && !whole.includes(campaign)).length,
    2,
    'campaigns with some banner sizes',
  )
  atLeast(campaigns.filter((campaign) => has(campaign, 'clip')).length, 6, 'campaigns with clips')
  for (const [size, ms] of [
    [640, 6000],
    [640, 15000],
    [320, 6000],
    [320, 15000],
  ])
    atLeast(
      ofFormat('clip').filter(({ width, duration_ms }) => width === size && duration_ms === ms).length,
      1,
      `clips ${size} wide of ${ms} ms`,
    )
  atLeast(ofFormat('native').length, 12, 'natives')
  atLeast(
    ofFormat('native').filter(({ description }) => description === undefined).length,
    2,
    'natives without description',
  )
  atLeast(
    ofFormat('native').filter(({ title }) => /\p{Script=Arabic}|\p{Script=Hebrew}/u.test(title)).length,
    1,
    'natives in a right-to-left script',
  )
  atLeast(
    ofFormat('native').filter(({ title }) => /\p{Extended_Pictographic}/u.test(title)).length,
    1,
    'natives with emoji',
  )
  atLeast(
    ofFormat('native').filter(({ title, description }) => title.length > 120 && description?.length > 300).length,
    1,
    'natives with very long text',
  )
  for (const type of ['chat', 'code', 'image', 'voice', 'agent'])
    atLeast(campaigns.filter(({ job_types }) => job_types.includes(type)).length, 2, `campaigns for ${type} by name`)
  atLeast(new Set(campaigns.flatMap(({ iab_categories }) => iab_categories)).size, 10, 'IAB categories')
  atLeast(campaigns.filter(({ countries }) => countries.length > 0).length, 3, 'campaigns limited to countries')
  atLeast(campaigns.length - usd.length, 2, 'campaigns not in USD')
  expect(
    Math.min(...usd.map((c) => c.price_cpm)) >= 0.4 && Math.max(...usd.map((c) => c.price_cpm)) <= 18,
    'USD prices must lie between 0.4 and 18',
  )
  atLeast(
    campaigns.filter(({ flight }) => flight.ends_at_ms !== null && flight.ends_at_ms < Date.UTC(2026, 0)).length,
    1,
    'flights that are over',
  )
  atLeast(
    campaigns.filter(({ flight }) => flight.starts_at_ms !== null && flight.starts_at_ms >= Date.UTC(2035, 0)).length,
    1,
    'flights not yet begun',
  )

  // Whatever is asked, by anyone, anywhere, at any time: something fits.
  const network = campaigns.filter(
    (c) =>
      c.topics.length === 0 &&
      c.job_types.length === 0 &&
      c.countries.length === 0 &&
      c.flight.starts_at_ms === null &&
      c.flight.ends_at_ms === null,
  )
  atLeast(network.length, 4, 'campaigns run of network')
  for (const campaign of network)
    expect(
      whole.includes(campaign) &&
        campaign.creatives.filter(({ format }) => format === 'clip').length === 2 &&
        has(campaign, 'native'),
      `${campaign.campaign_id} runs of network and must have every format and size`,
    )
}

function checkTopics() {
  const used = new Set(campaigns.flatMap((campaign) => campaign.topics))
  for (const topic of used) expect(topics[topic], `topic ${topic} has no keywords`)
  for (const [topic, keywords] of Object.entries(topics)) {
    expect(used.has(topic), `topic ${topic} is used by no campaign`)
    expect(
      keywords.length >= 3 &&
        keywords.every((word) => word === word.toLowerCase()) &&
        new Set(keywords).size === keywords.length,
      `topic ${topic} needs three or more different lower-case keywords`,
    )
    expect(!blocked_topics.includes(topic), `topic ${topic} is blocked`)
  }
}

function checkRequests() {
  const types = ['chat', 'code', 'image', 'voice', 'agent']
  for (const name of types.flatMap((type) => [`placements.${type}`, `jobs.${type}`])) {
    const body = read(`requests/${name}.json`)
    expect(
      body.client_id === 'proj_demo' && body.job_type === name.split('.')[1],
      `requests/${name}.json is for another project or job type`,
    )
  }
  for (const name of ['jobs.browser', 'beacons.render', 'consent.granted', 'browser.activate'])
    expect(existsSync(join(root, `requests/${name}.json`)), `requests/${name}.json is missing`)
}

function checkFiles() {
  const named = new Set()
  const check = (file, width, height, mime) => {
    named.add(file)
    checkPicture(join('creatives', file), width, height, mime)
  }
  for (const { format, width, height, file, poster_file, image_file, icon_file, mime_type, duration_ms } of creatives) {
    if (format === 'banner') check(file, width, height, mime_type)
    if (format === 'native') {
      check(image_file, width, height, 'image/webp')
      check(icon_file, 128, 128, 'image/webp')
    }
    if (format === 'clip') {
      named.add(file)
      checkClip(join('creatives', file), width, height, duration_ms)
      check(poster_file, width, height, 'image/webp')
    }
  }
  for (const file of filesIn('creatives')) expect(named.has(file), `creatives/${file} is named by no creative`)
}

function checkTestAssets() {
  for (const [width, height] of BANNERS)
    checkPicture(`test-assets/banner-${width}x${height}.png`, width, height, 'image/png')
  for (const [width, height] of [
    [640, 360],
    [320, 180],
  ]) {
    for (const seconds of CLIPS) {
      const name = `test-assets/clip-${width}x${height}-${seconds}s`
      checkClip(`${name}.mp4`, width, height, seconds * 1000)
      checkPicture(`${name}.webp`, width, height, 'image/webp')
    }
  }
}

function checkBudget() {
  const bytes = filesIn('creatives').reduce((sum, file) => sum + statSync(join(root, 'creatives', file)).size, 0)
  expect(bytes < 6_000_000, `creatives/ has ${bytes} bytes, 6 000 000 are allowed`)
}

function checkPicture(name, width, height, mime) {
  if (!existsSync(join(root, name))) return faults.push(`${name} is missing`)
  const picture = pictureSize(readFileSync(join(root, name)))
  expect(
    picture.mime === mime && picture.width === width && picture.height === height,
    `${name} is ${picture.mime} ${picture.width}x${picture.height}, declared ${mime} ${width}x${height}`,
  )
}

function checkClip(name, width, height, duration) {
  if (!existsSync(join(root, name))) return faults.push(`${name} is missing`)
  const probe = spawnSync(
    'ffprobe',
    [
      '-v',
      'error',
      '-show_entries',
      'format=duration:stream=codec_name,pix_fmt,width,height,avg_frame_rate',
      '-of',
      'json',
      join(root, name),
    ],
    { encoding: 'utf8' },
  )
  if (probe.status !== 0) return faults.push(`${name} cannot be read as a clip`)
  const { streams, format } = JSON.parse(probe.stdout)
  const video = streams.find(({ codec_name }) => codec_name === 'h264')
  expect(
    video?.pix_fmt === 'yuv420p' && video.width === width && video.height === height && video.avg_frame_rate === '25/1',
    `${name} is not H.264 yuv420p ${width}x${height} at 25 fps`,
  )
  expect(
    streams.some(({ codec_name }) => codec_name === 'aac'),
    `${name} has no sound to mute`,
  )
  expect(
    Math.abs(format.duration * 1000 - duration) <= 100,
    `${name} lasts ${format.duration} s, declared ${duration} ms`,
  )
  const bytes = readFileSync(join(root, name))
  expect(bytes.indexOf('moov') < bytes.indexOf('mdat'), `${name} cannot start before it is wholly loaded`)
}

/** Width and height out of the first bytes of a PNG or WebP (VP8, VP8L, VP8X). */
function pictureSize(bytes) {
  if (bytes.toString('latin1', 1, 4) === 'PNG')
    return { mime: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
  if (bytes.toString('latin1', 8, 12) !== 'WEBP') return { mime: 'unknown' }
  const mime = 'image/webp'
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { mime, width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21)
      return { mime, width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    default:
      return { mime, width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  }
}

function filesIn(folder) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, folder).length + 1))
}
