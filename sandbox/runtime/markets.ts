import { once } from '#contract/objects.ts'
import { MarketData } from '#domain/catalogue.ts'
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
}

export function createMarkets(options: {
  store: Pick<Store, 'catalogue' | 'catalogue_id'>
  demand: unknown
  topics: () => { topics: Record<string, string[]> }
  safety: () => { blocked_topics: readonly string[]; keywords: Record<string, string[]> }
}): Markets {
  const current = once(() => prepareMarket(options.demand as MarketData))
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
  return {
    get current() {
      return current()
    },
    get catalogue_id() {
      return options.store.catalogue_id
    },
    at(catalogue_id) {
      if (catalogue_id === options.store.catalogue_id) return current()
      return older.get(catalogue_id) ?? readOlder(catalogue_id)
    },
    clearCache: () => older.clear(),
    deriveTopic: (text) => deriveTopic(topics(), text),
    deriveRisk: (text) => deriveTopic(risks(), text),
    isHighRisk: (topic) => isHighRisk(safety().blocked_topics, topic),
  }
}
