/** The style sheets of the hosted frame: what all of its documents share, and the sheet of one creative. */
import type { FrameCreative } from '../operations/render.ts'
import { clipStyle } from './clip.ts'
import { nativeStyle } from './native.ts'

const base = `
:root{color-scheme:light dark;--paper:#fff;--ink:#17171a;--soft:#5a5a63;--line:#0000001a;--edge:#00000038;--shade:#f3f3f5;--shade-hover:#e8e8eb;--button:#17171a;--button-hover:#35353b;--on-button:#fff;--focus:#2563eb}
@media (prefers-color-scheme:dark){:root{--paper:#1c1c20;--ink:#f4f4f6;--soft:#abaab5;--line:#ffffff21;--edge:#ffffff42;--shade:#2b2b31;--shade-hover:#393940;--button:#f4f4f6;--button-hover:#d4d4da;--on-button:#17171a;--focus:#8ab4ff}}
*,*::before,*::after{box-sizing:border-box}
html,body{margin:0;background:transparent}
body{color:var(--ink);font:400 .875rem/1.45 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;-webkit-text-size-adjust:100%;text-size-adjust:100%}
[hidden]{display:none!important}
.surface{display:block;color:inherit;text-decoration:none}
.surface::after{content:'';position:absolute;z-index:1;inset:0;border-radius:inherit;pointer-events:none}
a.surface:focus-visible{outline:2px solid transparent;outline-offset:-2px}
a.surface:focus-visible::after{box-shadow:inset 0 0 0 3px var(--focus),inset 0 0 0 5px var(--paper)}
.test{padding:0 6px;border-radius:4px;background:#facc15;color:#17171a;font:700 10px/16px system-ui,sans-serif;letter-spacing:.08em}
.preview{margin:0;padding:12px 16px;border-bottom:1px solid var(--line);background:var(--shade);color:var(--soft);font-size:.8125rem;text-align:center}
.preview b{color:var(--ink)}
.previewing .creative{margin:24px auto}
`

/** A banner and a clip fill their frame, which has their proportions. */
const media = `
.creative{position:relative;width:100vw;height:100vh;overflow:hidden}
.surface,.image,.video{display:block;width:100%;height:100%}
.image,.video{object-fit:contain}
.creative>.test{position:absolute;top:0;left:0;border:solid transparent;border-width:0 1px 1px 0;border-radius:0 0 6px;pointer-events:none}
`

/** Returns the style sheet of one creative. */
export function frameStyle(creative: FrameCreative): string {
  const width = `.previewing .creative{width:min(${creative.width}px,calc(100vw - 32px));`
  if (creative.format === 'native') return `${base}${nativeStyle(creative.template_id)}${width}}`
  const size = `${width}height:auto;aspect-ratio:${creative.width}/${creative.height}}`
  return creative.format === 'clip' ? `${base}${media}${clipStyle}${size}` : `${base}${media}${size}`
}

export const problemStyle = `${base}
.problem{display:grid;gap:4px;place-content:safe center;height:100vh;overflow:auto;padding:8px 16px;border:1px solid var(--line);border-radius:12px;background:var(--paper);text-align:center}
.problem p{margin:0;text-wrap:balance}
.problem code{color:var(--soft);font-size:.75rem;overflow-wrap:anywhere}
@media (max-height:79px){
.problem{gap:0;padding:2px 12px;font-size:.75rem;line-height:1.3}
.problem code{display:none}
}
`
