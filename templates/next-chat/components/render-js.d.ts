/** The part of `window.SponsoredPlacement` that this project uses. render.js defines it. */

interface SponsoredPlacementEvent {
  type: string
  code?: string
  reason_code?: string
}

interface SponsoredPlacementTurn {
  finish(): void
  on(type: string, listener: (event: SponsoredPlacementEvent) => void): () => void
}

interface Window {
  SponsoredPlacement?: {
    startTurn(options: {
      target: Element
      endpoint: string
      body: object
      turnId: string
      signal: AbortSignal
      keepMounted: boolean
    }): SponsoredPlacementTurn
    destroy(): void
  }
}
