/** The sizes of ads: what a response declares, what a beacon measures. */
import { isPlacementRequest, type JournaledExchange, polledSlot } from '#diagnosis/exchange.ts'
import { valueAt } from '#foundation/json.ts'

/** CSS pixels. */
export interface Size {
  width: number
  height: number
}

/** Returns the declared size of each placement that the service responded with. */
export function declaredSizes(exchanges: readonly JournaledExchange[]): Map<string, Size> {
  return new Map(
    exchanges.flatMap((exchange) => {
      const { slot_id, response_body } = exchange
      const isAnswer = isPlacementRequest(exchange) || polledSlot(exchange) !== null
      const size = isAnswer ? sizeAt(response_body, 'placement.width', 'placement.height') : null
      return slot_id === null || size === null ? [] : [[slot_id, size] as const]
    }),
  )
}

/** Returns a size in a body, by the dotted paths of its sides, or null. */
export function sizeAt(body: unknown, ...sides: readonly [width: string, height: string]): Size | null {
  const [width, height] = sides.map((side) => valueAt(body, side))
  return typeof width === 'number' && typeof height === 'number' ? { width, height } : null
}

/** Returns `40 × 33`. */
export function formatSize({ width, height }: Size): string {
  return `${width} × ${height}`
}
