import { type Market, MarketData, prepareMarket } from '../domain/market.ts'
import { deriveTopic, isHighRisk, prepareTopics } from '../domain/topic.ts'
import type { Store } from '../store/store.ts'

/** The demand in force, what older decisions were made over, and what is known of topics. */
export interface Markets {
  readonly current: Market
  readonly catalogue_id: number
  /** The market a decision was made over; null when its catalogue is gone. */
  at(catalogue_id: number): Promise<Market | null>
  /** Forgets older catalogues, when a state was replaced by another with catalogues of its own. */
  forget(): void
  deriveTopic(text: string): string | null
  /** The high-risk topic that a text speaks of; it outweighs every other. */
  deriveRisk(text: string): string | null
  isHighRisk(topic: string): boolean
}

export function createMarkets(options: {
  store: Store
  catalogueId: () => number
  demand: unknown
  topics: { topics: Record<string, string[]> }
  safety: { blocked_topics: readonly string[]; keywords: Record<string, string[]> }
}): Markets {
  const current = prepareMarket(options.demand as MarketData)
  const topics = prepareTopics(options.topics)
  const risks = prepareTopics({ topics: options.safety.keywords })
  const older = new Map<number, Market>()
  return {
    current,
    get catalogue_id() {
      return options.catalogueId()
    },
    async at(catalogue_id) {
      if (catalogue_id === options.catalogueId()) return current
      const known = older.get(catalogue_id)
      if (known !== undefined) return known
      const demand = await options.store.catalogue(catalogue_id)
      if (demand === null) return null
      const market = prepareMarket(MarketData.parse(JSON.parse(demand)))
      older.set(catalogue_id, market)
      return market
    },
    forget: () => older.clear(),
    deriveTopic: (text) => deriveTopic(topics, text),
    deriveRisk: (text) => deriveTopic(risks, text),
    isHighRisk: (topic) => isHighRisk(options.safety.blocked_topics, topic),
  }
}
