/** render.js: puts the public API on the page, once. */
import { createApi, type SponsoredPlacement } from './api.ts'

declare const __RENDERER_VERSION__: string
declare global {
  interface Window {
    SponsoredPlacement?: SponsoredPlacement
  }
}

const script = document.currentScript
const origin = script instanceof HTMLScriptElement && script.src ? new URL(script.src).origin : null
window.SponsoredPlacement ??= createApi(__RENDERER_VERSION__, origin)
