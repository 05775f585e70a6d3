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
    activate(options: { publishableKey: string }): Promise<object | null>
    startTurn(options: {
      target: Element
      body: object
      turnId: string
      signal: AbortSignal
      keepMounted: boolean
    }): SponsoredPlacementTurn
    destroy(): void
    getEvents(): SponsoredPlacementEvent[]
  }
}

interface ImportMetaEnv {
  readonly SVC_BASE_URL: string
  readonly SVC_PUBLISHABLE_KEY: string
}
