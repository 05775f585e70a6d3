import { once } from '#contract/objects.ts'
import { MarketData, ownFolder } from '#domain/catalogue.ts'
import { type Market, prepareMarket } from '#domain/market.ts'
import { deriveTopic, isHighRisk, prepareTopics } from '#domain/topics.ts'
import type { MaybePromise } from '#foundation/maybe-promise.ts'
import type { Store } from '#store/store.ts'

/** The market in force, the markets of older decisions, and the topics of prompts. */
export interface Markets {
  readonly current: Market
  readonly catalogue_id: number
  /** Returns the market that a decision was made with; null when its catalogue is gone. */
  at(catalogue_id: number): MaybePromise<Market | null>
  /** Clears the cache of older markets, when another state with its own catalogues has replaced this one. */
  clearCache(): void
  deriveTopic(text: string): string | null
  /** Returns the high-risk topic of a text; it outweighs every other topic. */
  deriveRisk(text: string): string | null
  isHighRisk(topic: string): boolean
  /** Puts another demand in force. Call it while no decision is made. */
  replace(demand: { sha256: string; text: string; data: unknown }): Promise<void>
  /**
   * Returns a file of your own demand, of the catalogue in force or an older one; null without one of this name. While it is
   * cached it is the same object.
   */
  findFile(name: string): MaybePromise<OwnFile | null>
}

export interface OwnFile {
  media_type: string
  body: Buffer
}

/** Decoded files that are kept, bytes: all of one demand. */
const maxCachedBytes = 32_000_000

export function createMarkets(options: {
  store: Pick<Store, 'catalogue' | 'catalogue_id' | 'findCatalogueWith' | 'replaceCatalogue'>
  demand: unknown
  topics: () => { topics: Record<string, string[]> }
  safety: () => { blocked_topics: readonly string[]; keywords: Record<string, string[]> }
}): Markets {
  const prepare = (demand: unknown) => once(() => prepareMarket(demand as MarketData))
  let current = prepare(options.demand)
  const topics = once(() => prepareTopics(options.topics()))
  const safety = once(options.safety)
  const risks = once(() => prepareTopics({ topics: safety().keywords }))
  const older = new Map<number, Market>()
  const readOlder = async (catalogue_id: number): Promise<Market | null> => {
    const demand = await options.store.catalogue(catalogue_id)
    if (demand === null) return null
    const market = prepareMarket(MarketData.parse(JSON.parse(demand)))
    older.set(catalogue_id, market)
    return market
  }
  const at = (catalogue_id: number) =>
    catalogue_id === options.store.catalogue_id ? current() : (older.get(catalogue_id) ?? readOlder(catalogue_id))
  const decoded = createFileCache()
  const findFile = async (name: string) => {
    if (!name.startsWith(ownFolder)) return null
    const known = decoded.find(name)
    if (known !== null) return known
    const own = current().files[name]
    if (own !== undefined) return decoded.add(name, own)
    const id = await options.store.findCatalogueWith(name)
    const file = id === null ? undefined : (await at(id))?.files[name]
    return file === undefined ? null : decoded.add(name, file)
  }
  return {
    get current() {
      return current()
    },
    get catalogue_id() {
      return options.store.catalogue_id
    },
    at,
    findFile,
    async replace({ sha256, text, data }) {
      older.set(options.store.catalogue_id, current())
      await options.store.replaceCatalogue({ sha256, demand: text })
      current = prepare(data)
      decoded.clear()
    },
    clearCache() {
      older.clear()
      decoded.clear()
    },
    deriveTopic: (text) => deriveTopic(topics(), text),
    deriveRisk: (text) => deriveTopic(risks(), text),
    isHighRisk: (topic) => isHighRisk(safety().blocked_topics, topic),
  }
}

/** The decoded files that were asked for last: a clip is served in many ranges. */
function createFileCache() {
  const files = new Map<string, OwnFile>()
  let bytes = 0
  return {
    find: (name: string): OwnFile | null => files.get(name) ?? null,
    add(name: string, { media_type, base64 }: NonNullable<MarketData['files']>[string]): OwnFile {
      const file = { media_type, body: Buffer.from(base64, 'base64') }
      bytes += file.body.length - (files.get(name)?.body.length ?? 0)
      files.set(name, file)
      for (const [oldest, { body }] of files) {
        if (bytes <= maxCachedBytes) break
        files.delete(oldest)
        bytes -= body.length
      }
      return file
    },
    clear() {
      files.clear()
      bytes = 0
    },
  }
}
