/** Reads your own demand: files of campaigns, and the pictures and clips beside them, as the data of a market (A107). */
import { createHash } from 'node:crypto'
import { lstatSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { Domain } from '#contract/fields.ts'
import type { Creative, MarketData } from '#domain/catalogue.ts'
import { systemErrorBehind, systemHint, systemReason } from '#foundation/system-error.ts'
import { parseYaml } from '#yaml/parse.ts'
import { findProblems, inOrder, type Path, type Places, SuiteError, type SuiteProblem } from '#yaml/problems.ts'
import { fitCreative } from './creative-size.ts'
import { DemandFile, nameCampaign, type OwnCampaign, type OwnCreative } from './demand-file.ts'
import { type Media, maxClipBytes, readMedia } from './media.ts'
import { amongSent, type DemandSource, FileProblem, onDisk, readStamp } from './own-file.ts'

/** Your own demand, in the shape of the catalogue. */
export interface OwnDemand {
  market: Pick<MarketData, 'partners' | 'campaigns' | 'window_ms'> & { files: NonNullable<MarketData['files']> }
  /** The files that were read, and the folder, with their stamps from before: a watch follows them. */
  read: ReadonlyMap<string, string>
}

/** Bytes. */
const maxYamlBytes = 8_000_000
const maxMediaBytes = 32_000_000

/**
 * Reads a file of demand, or all of a folder in the order of their names.
 * @throws SuiteError with everything that is wrong, each with file, line and fix
 */
export async function readDemandFiles(path: string): Promise<OwnDemand> {
  const reader = new Reader(onDisk)
  await reader.note(path)
  return readAll(reader, listFiles(path))
}

/**
 * Reads files that were sent here, by their names: those of demand, and the pictures and clips that they name.
 * @throws SuiteError, as above
 */
export async function readSentDemand(files: ReadonlyMap<string, Buffer>): Promise<OwnDemand> {
  const names = [...files.keys()].filter((name) => /\.ya?ml$/i.test(name)).toSorted()
  if (names.length > 0) return readAll(new Reader(amongSent(files)), names)
  const place = { file: [...files.keys()][0] ?? '', line: 0, column: 0 }
  throw new SuiteError([
    {
      place,
      message: 'No file of demand is among the files.',
      hint: 'Drop it together with its pictures: demand.yaml',
    },
  ])
}

async function readAll(reader: Reader, files: readonly string[]): Promise<OwnDemand> {
  for (const file of files) await reader.read(file)
  return reader.finish()
}

function listFiles(path: string): string[] {
  try {
    if (!lstatSync(path).isDirectory()) return [path]
    const names = readdirSync(path).filter((name) => /\.ya?ml$/.test(name))
    if (names.length > 0) return names.toSorted().map((name) => join(path, name))
  } catch (error) {
    throw new SuiteError([unreadable(path, error)])
  }
  const place = { file: path, line: 0, column: 0 }
  throw new SuiteError([{ place, message: 'The folder has no file of demand.', hint: 'Add one: demand.yaml' }])
}

function unreadable(file: string, error: unknown): SuiteProblem {
  const system = systemErrorBehind(error)
  const message = system === null ? (error as Error).message : `It cannot be read: ${systemReason(system)}.`
  return { place: { file, line: 0, column: 0 }, message, hint: system === null ? '' : systemHint(system.code) }
}

/** A campaign or creative in its file. */
interface At {
  file: string
  path: Path
  places: Places
}

class Reader {
  readonly #problems: SuiteProblem[] = []
  readonly #market: OwnDemand['market'] = { partners: [], campaigns: [], files: {} }
  readonly #read = new Map<string, string>()
  readonly #media = new Map<string, { media: Media; stored: string }>()
  readonly #source: DemandSource
  #bytes = 0

  constructor(source: DemandSource) {
    this.#source = source
  }

  /** Stamps a file before it is read: a change that comes while it is read is one. */
  async note(path: string): Promise<void> {
    if (this.#source === onDisk && !this.#read.has(path)) this.#read.set(path, await readStamp(path))
  }

  async read(file: string): Promise<void> {
    await this.note(file)
    const text = this.#readText(file)
    if (text === null) return
    const { value, places } = parseYaml(text, file)
    const problems = findProblems(DemandFile, value ?? {}, [], places)
    if (problems.length > 0) {
      this.#problems.push(...problems)
      return
    }
    const data = (value ?? {}) as DemandFile
    this.#addPartners(data, places)
    if (data.window_ms !== undefined) this.#market.window_ms = data.window_ms
    for (const [index, campaign] of (data.campaigns ?? []).entries())
      await this.#addCampaign(campaign, { file, path: ['campaigns', index], places })
  }

  finish(): OwnDemand {
    if (this.#problems.length > 0) throw new SuiteError(inOrder(this.#problems))
    return { market: this.#market, read: this.#read }
  }

  #readText(file: string): string | null {
    try {
      const size = this.#source.size(file)
      if (size <= maxYamlBytes) return this.#source.text(file)
      this.#problems.push({
        place: { file, line: 0, column: 0 },
        message: `It has ${size} bytes, and at most ${maxYamlBytes} are read.`,
        hint: 'Divide it, and name the folder.',
      })
    } catch (error) {
      this.#problems.push(unreadable(file, error))
    }
    return null
  }

  #refuse(places: Places, path: Path, message: string, hint: string): void {
    this.#problems.push({ place: places.of(path), message, hint })
  }

  #addPartners({ partners = [] }: DemandFile, places: Places): void {
    for (const [index, { id, name = id, currency = 'USD', ...behaviour }] of partners.entries()) {
      const partner_id = `ptn_${id}`
      if (this.#market.partners.some((partner) => partner.partner_id === partner_id))
        this.#refuse(places, ['partners', index, 'id'], `There is another partner ${id}.`, 'Give each its own id.')
      const [simulated] = behaviour.url === undefined ? [] : Object.keys(behaviour).filter((field) => field !== 'url')
      if (simulated !== undefined)
        this.#refuse(
          places,
          ['partners', index, simulated],
          `${simulated} is of simulated partners, and ${id} is a bidder of your own.`,
          'Remove the line, or the url.',
        )
      this.#market.partners.push({ partner_id, name, seat: id, currency, ...behaviour })
    }
  }

  async #addCampaign(own: OwnCampaign, at: At): Promise<void> {
    const { places, path, file } = at
    const campaign_id = this.#uniqueId(own, at)
    const flight = { starts_at_ms: readTime(own.starts_at), ends_at_ms: readTime(own.ends_at) }
    if (flight.ends_at_ms !== null && flight.ends_at_ms <= (flight.starts_at_ms ?? 0))
      this.#refuse(
        places,
        [...path, 'ends_at'],
        'It ends before it starts.',
        'Give a later day: ends_at is not part of it.',
      )
    const landing_domain = own.landing_domain ?? new URL(own.click_url).hostname
    if (!Domain.safeParse(landing_domain).success)
      this.#refuse(
        places,
        [...path, 'click_url'],
        `${landing_domain} is no domain.`,
        'Add one: landing_domain: shop.example',
      )
    const creatives: Creative[] = []
    for (const [index, creative] of own.creatives.entries()) {
      const creative_id = `crv_${campaign_id.slice(4)}_${index + 1}`
      const read = await this.#readCreative(creative, creative_id, { ...at, path: [...path, 'creatives', index] })
      if (read !== null) creatives.push(read)
    }
    this.#market.campaigns.push({
      campaign_id,
      partner_id: this.#findPartner(own, at),
      sponsor_name: own.sponsor_name,
      landing_domain,
      click_url: own.click_url,
      iab_categories: own.iab_categories ?? ['IAB24'],
      price_cpm: own.price_cpm,
      currency: own.currency ?? 'USD',
      topics: own.topics ?? [],
      job_types: own.job_types ?? [],
      countries: own.countries ?? [],
      flight,
      creatives,
      ...(own.caps === undefined ? {} : { caps: own.caps }),
      ...(own.needs_consent === undefined ? {} : { needs_consent: own.needs_consent }),
      source: { file: basename(file).toWellFormed(), line: places.of(path).line },
    })
  }

  /** Ids that were chosen must differ; those of names are numbered. */
  #uniqueId(own: OwnCampaign, { path, places }: At): string {
    const base = nameCampaign(own)
    const isTaken = (id: string) => this.#ids.has(id)
    let id = base
    if (isTaken(id) && own.id !== undefined)
      this.#refuse(places, [...path, 'id'], `There is another campaign ${own.id}.`, 'Give each its own id.')
    for (let number = 2; isTaken(id); number++) id = `${base}_${number}`
    this.#ids.add(id)
    return id
  }

  readonly #ids = new Set<string>()

  #findPartner({ partner }: OwnCampaign, { path, places }: At): string {
    if (partner?.includes('://') === true) return this.#findBidder(partner)
    const partner_id = `ptn_${partner ?? 'own'}`
    if (this.#market.partners.some((each) => each.partner_id === partner_id)) return partner_id
    if (partner !== undefined)
      this.#refuse(places, [...path, 'partner'], `There is no partner ${partner}.`, 'Add it to partners.')
    else this.#market.partners.push({ partner_id, name: 'Your demand', seat: 'own', currency: 'USD' })
    return partner_id
  }

  /** A bidder that several campaigns name by its URL is one partner. */
  #findBidder(url: string): string {
    const { partners } = this.#market
    const known = partners.find((partner) => partner.url === url)
    if (known !== undefined) return known.partner_id
    const number = partners.filter((partner) => partner.url !== undefined).length + 1
    const seat = number === 1 ? 'bidder' : `bidder_${number}`
    partners.push({ partner_id: `ptn_${seat}`, name: 'Your bidder', seat, currency: 'USD', url })
    return `ptn_${seat}`
  }

  async #readCreative(own: OwnCreative, creative_id: string, at: At): Promise<Creative | null> {
    if ('title' in own) return this.#readNative(own, creative_id, at)
    const main = await this.#readMedia(own.file, 'file', at)
    if (main === null) return null
    const { media, stored } = main
    const format = media.kind === 'picture' ? 'banner' : 'clip'
    const fit = fitCreative(own, media, format)
    if ('message' in fit) {
      this.#refuse(at.places, [...at.path, fit.field], fit.message, fit.hint)
      return null
    }
    const shown = { creative_id, ...fit, file: stored, mime_type: media.media_type }
    if (format === 'banner') return { ...shown, format }
    const poster = own.poster === undefined ? null : await this.#readPicture(own.poster, 'poster', at)
    return { ...shown, format, duration_ms: media.duration_ms!, ...(poster === null ? {} : { poster_file: poster }) }
  }

  async #readNative(
    { title, description, cta_text, image, icon }: Extract<OwnCreative, { title: string }>,
    creative_id: string,
    at: At,
  ): Promise<Creative | null> {
    const image_file = await this.#readPicture(image, 'image', at)
    const icon_file = await this.#readPicture(icon, 'icon', at)
    if (image_file === null || icon_file === null) return null
    const text = { title, cta_text, ...(description === undefined ? {} : { description }) }
    return { creative_id, format: 'native', width: 600, height: 314, ...text, image_file, icon_file }
  }

  async #readPicture(name: string, field: string, at: At): Promise<string | null> {
    const read = await this.#readMedia(name, field, at)
    if (read === null || read.media.kind === 'picture') return read?.stored ?? null
    this.#refuse(at.places, [...at.path, field], `${name} is a clip.`, 'Name a picture.')
    return null
  }

  /** A file that several creatives name is read once. */
  async #readMedia(name: string, field: string, { file, path, places }: At) {
    const folder = dirname(file)
    const whole = join(folder, name)
    const known = this.#media.get(whole)
    if (known !== undefined) return known
    await this.note(whole)
    try {
      const bytes = this.#source.bytes(folder, name, maxClipBytes)
      const media = await readMedia(name, bytes)
      this.#bytes += bytes.length
      if (this.#bytes > maxMediaBytes)
        throw new FileProblem(
          `All files together have more than ${maxMediaBytes} bytes.`,
          'Use fewer, or smaller ones.',
        )
      const stored = `demand/${createHash('sha256').update(bytes).digest('hex').slice(0, 24)}.${media.extension}`
      this.#market.files[stored] = { media_type: media.media_type, base64: bytes.toString('base64') }
      const read = { media, stored }
      this.#media.set(whole, read)
      return read
    } catch (error) {
      if (!(error instanceof FileProblem)) throw error
      const { message, hint, at } = error
      const named = places.of([...path, field])
      const place = at === null ? named : { file: whole, ...at }
      this.#problems.push({
        place,
        message,
        hint: at === null ? hint : `${hint} It is named by ${file}:${named.line}.`,
      })
      return null
    }
  }
}

function readTime(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text)
}
