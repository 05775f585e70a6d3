/** How creatives look inside the hosted frame. Longer than most files: it is a style sheet. */
import type { Creative } from './frame-page.ts'

const base = `
:root{color-scheme:light dark;--paper:#fff;--ink:#18181b;--soft:#52525b;--line:#e4e4e7;--shade:#f4f4f5;--button:#18181b;--on-button:#fff}
@media (prefers-color-scheme:dark){:root{--paper:#1c1c1f;--ink:#fafafa;--soft:#b4b4bd;--line:#3a3a40;--shade:#2a2a2e;--button:#fafafa;--on-button:#18181b}}
*,*::before,*::after{box-sizing:border-box}
html,body{margin:0;background:transparent}
body{font:400 14px/1.45 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;color:var(--ink);-webkit-text-size-adjust:100%}
[hidden]{display:none!important}
.surface{display:block;color:inherit;text-decoration:none}
a.surface:focus-visible,button:focus-visible{outline:3px solid #2563eb;outline-offset:-3px}
.test{padding:0 6px;border-radius:4px;background:#facc15;color:#18181b;font:700 11px/18px system-ui,sans-serif;letter-spacing:.06em}
.preview{margin:0;padding:10px 16px;background:var(--shade);color:var(--soft);border-bottom:1px solid var(--line);font-size:13px}
.preview b{color:var(--ink)}
.previewing .creative{margin:24px auto}
`

const media = `
.creative{position:relative;width:100vw;height:100vh;overflow:hidden}
.surface,.image,.video{display:block;width:100%;height:100%}
.image,.video{object-fit:contain}
.creative>.test{position:absolute;top:6px;left:6px;pointer-events:none}
`

const clip = `
.creative{background:#000}
.play,.mute{position:absolute;display:grid;place-items:center;padding:0;border:0;border-radius:50%;background:rgb(9 9 11/.72);color:#fff;cursor:pointer}
.play:hover,.mute:hover{background:rgb(9 9 11/.9)}
.play{inset:0;margin:auto;width:64px;height:64px}
.play.on{inset:auto auto 10px 10px;width:40px;height:40px}
.play .stop,.play.on .start{display:none}
.play.on .stop{display:inline}
.mute{right:10px;bottom:10px;width:40px;height:40px}
@media (max-height:200px){
.mute,.play.on{width:32px;height:32px}
.mute{right:8px;bottom:8px}
.play.on{inset:auto auto 8px 8px}
}
.play svg,.mute svg{width:55%;height:55%;fill:currentColor}
.mute .silent,.mute .loud{fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round}
.mute .loud,.mute.on .silent{display:none}
.mute.on .loud{display:inline}
`

const native = `
.surface{display:flex;overflow:hidden;border:1px solid var(--line);border-radius:14px;background:var(--paper)}
.picture{display:block;overflow:hidden;background:var(--shade)}
.image{display:block;width:100%;height:100%;object-fit:cover}
.words{display:flex;flex-direction:column;align-items:flex-start;min-width:0;overflow-wrap:anywhere}
.sponsor{display:flex;align-items:center;gap:8px;max-width:100%;color:var(--soft);font-size:12px;line-height:20px}
.sponsor bdi{overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
.icon{flex:none;width:20px;height:20px;border-radius:5px;object-fit:cover}
.title,.description{display:-webkit-box;overflow:hidden;-webkit-box-orient:vertical;-webkit-line-clamp:3}
.title{font-size:16px;font-weight:650;line-height:1.3;text-wrap:balance}
.description{color:var(--soft)}
.cta{max-width:100%;overflow:hidden;padding:8px 16px;border-radius:999px;background:var(--button);color:var(--on-button);font-size:13px;font-weight:600;line-height:18px;white-space:nowrap;text-overflow:ellipsis}
.short .surface{height:100vh}
.short .words{justify-content:center}
.short .description{display:none}
@media (max-height:110px){.short .sponsor{display:none}}
a.surface:hover .title{text-decoration:underline;text-decoration-thickness:1px;text-underline-offset:3px}
`

/** A picture above its words gives way to them, and leaves when there is no room for both. */
const shortColumn = `
.short .picture{flex:1 1 0;min-height:0;aspect-ratio:auto}
.short .words{flex:none}
.short .title{-webkit-line-clamp:2}
@media (max-height:230px){
.short .picture{display:none}
.short .words{flex:1}
}
`

const templates = {
  card: `
.surface{flex-direction:column}
.picture{aspect-ratio:1.91}
.words{gap:6px;padding:14px 16px 16px}
.cta{margin-top:8px}
${shortColumn}`,
  list_item: `
.surface{align-items:flex-start;gap:14px;padding:12px}
.picture{flex:none;width:88px;height:88px;max-height:calc(100vh - 26px);border-radius:10px}
.words{flex:1;gap:3px}
.title{font-size:15px;-webkit-line-clamp:2}
.description{font-size:13px;-webkit-line-clamp:2}
.cta{margin-top:6px;padding:5px 12px;font-size:12px}
.short .words{align-self:center}
`,
  featured: `
.surface{flex-direction:column}
.picture{aspect-ratio:1.6}
.words{gap:8px;padding:18px 20px 20px}
.title{font-size:20px;line-height:1.25}
.description{font-size:15px}
.cta{margin-top:10px;padding:10px 20px;font-size:14px}
@media (min-width:520px){
.surface{flex-direction:row;align-items:stretch}
.picture{position:relative;flex:0 0 46%;min-height:260px;aspect-ratio:auto}
.image{position:absolute;inset:0}
.words{flex:1;justify-content:center;padding:24px 28px}
.title{font-size:24px}
.short .picture{min-height:0}
.short .words{padding-block:12px}
.short .title{font-size:18px;-webkit-line-clamp:2}
}
@media (max-width:519px){${shortColumn}}
`,
  minimal: `
.surface{padding:12px 16px;border-radius:12px}
.words{flex:1;gap:4px}
.title{font-size:15px;-webkit-line-clamp:2}
.description{font-size:13px;-webkit-line-clamp:2}
.cta{padding:0;border-radius:0;background:none;color:var(--ink);text-decoration:underline;text-decoration-color:var(--soft);text-underline-offset:3px}
`,
}

/** The style sheet of one creative. */
export function frameStyle(creative: Creative): string {
  const width = `.previewing .creative{width:min(${creative.width}px,calc(100vw - 32px));`
  if (creative.format === 'native') return `${base}${native}${templates[creative.template_id]}${width}}`
  const size = `${width}height:auto;aspect-ratio:${creative.width}/${creative.height}}`
  return creative.format === 'clip' ? `${base}${media}${clip}${size}` : `${base}${media}${size}`
}

export const problemStyle = `${base}
.problem{display:grid;gap:4px;place-content:center;min-height:100vh;padding:16px;background:var(--paper);text-align:center}
.problem p{margin:0}
.problem code{color:var(--soft);font-size:12px}
`
