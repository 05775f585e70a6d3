// campaigns.mjs -> demand.json. Pure: the same list gives the same file.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { campaigns, partners } from './campaigns.mjs'

export const CLIP_SIZES = ['640x360', '320x180']

function creatives(sponsor) {
  const id = `crv_${sponsor.slug.replaceAll('-', '_')}`
  const list = (sponsor.sizes ?? []).map((size) => ({
    creative_id: `${id}_banner_${size}`,
    format: 'banner',
    ...dimensions(size),
    file: `${sponsor.slug}/banner-${size}.webp`,
    mime_type: 'image/webp',
  }))
  if (sponsor.clip) {
    for (const size of CLIP_SIZES) {
      list.push({
        creative_id: `${id}_clip_${size}`,
        format: 'clip',
        ...dimensions(size),
        duration_ms: sponsor.clip * 1000,
        file: `${sponsor.slug}/clip-${size}.mp4`,
        poster_file: `${sponsor.slug}/clip-${size}.webp`,
        mime_type: 'video/mp4',
      })
    }
  }
  if (sponsor.native) {
    const { title, description, cta } = sponsor.native
    list.push({
      creative_id: `${id}_native`,
      format: 'native',
      title,
      ...(description && { description }),
      cta_text: cta,
      image_file: `${sponsor.slug}/native.webp`,
      ...dimensions('600x314'),
      icon_file: `${sponsor.slug}/icon.webp`,
    })
  }
  return list
}

function dimensions(size) {
  const [width, height] = size.split('x').map(Number)
  return { width, height }
}

export function demand() {
  return {
    revision: 1,
    partners,
    campaigns: campaigns.map((sponsor) => ({
      campaign_id: `cmp_${sponsor.slug.replaceAll('-', '_')}`,
      partner_id: sponsor.partner,
      sponsor_name: sponsor.name,
      landing_domain: `${sponsor.slug}.example`,
      click_url: `https://${sponsor.slug}.example/${sponsor.path}`,
      iab_categories: sponsor.iab,
      price_cpm: sponsor.price,
      currency: sponsor.currency ?? 'USD',
      topics: sponsor.topics,
      job_types: sponsor.job_types ?? [],
      countries: sponsor.countries ?? [],
      flight: sponsor.flight ?? { starts_at_ms: null, ends_at_ms: null },
      creatives: creatives(sponsor),
    })),
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(new URL('../../fixtures/demand.json', import.meta.url), `${JSON.stringify(demand(), null, 2)}\n`)
}
