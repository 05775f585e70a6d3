/** What the fragments of code in the documentation take as given: a page with render.js, and functions of the app. */
import type { SponsoredPlacement as Renderer } from '#renderer/host/main.ts'

declare global {
  const SponsoredPlacement: Renderer
  const session_id: string
  const token: string
  const client_id: string
  type Route = (
    path: string,
    respond: (request: { body: object; query: Record<string, string> }) => Promise<Response>,
  ) => void
  const app: { post: Route; get: Route }
  function call(method: string, path: string, body?: object): Promise<Response>
  const beacon: object
  function streamTheAnswer(): Promise<string>
}
