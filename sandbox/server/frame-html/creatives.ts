/** The creatives inside the hosted frame: the markup and style of each, side by side. */
import type { NativeTemplateId } from '#contract/fields.ts'
import { escapeHtml } from '#foundation/html.ts'
import type { FrameCreative } from '#operations/render.ts'

type NativeCreative = Extract<FrameCreative, { format: 'native' }>

/**
 * Returns a native template. `test_badge` is HTML that is placed next to the sponsor's name.
 *
 * A template fills its frame, whose height depends on its width alone (`nativeHeight`): its styles reserve as many lines as that
 * counts, and a picture above the words has what they leave. Where the slot has less room, frame.js sets
 * `short`, then `shorter`, `shortest` and `tiny` on top of each other until everything fits: the description goes
 * first, then the picture if it is above the words, or the sponsor if it is next to them, and finally both and the
 * title's second line. Title and call to action stay in any slot. A slot that is wider than tall puts the parts side by
 * side, and one as flat as a leaderboard puts the call to action at its end.
 *
 * Font sizes are in rem, so they follow the reader's own. A text has room above its first line for the accents of
 * capitals. Below its last line, the accents of a clipped line would show, so it ends a pixel early, except in scripts
 * with deep descenders.
 */
export function nativeHtml({ template_id, assets }: NativeCreative, sponsor_name: string, test_badge: string): string {
  const picture =
    template_id === 'minimal'
      ? ''
      : `<span class="picture"><img class="image" src="${escapeHtml(assets.image_url)}" alt=""></span>`
  const description = assets.description ? `<span class="description">${escapeHtml(assets.description)}</span>` : ''
  return [
    picture,
    '<span class="words">',
    `<span class="sponsor"><img class="icon" src="${escapeHtml(assets.icon_url)}" alt=""><bdi>${escapeHtml(sponsor_name)}</bdi>${test_badge}</span>`,
    `<strong class="title">${escapeHtml(assets.title)}</strong>`,
    description,
    `<span class="cta">${escapeHtml(assets.cta_text)}</span>`,
    '</span>',
  ].join(' ')
}

export function nativeStyle(template_id: NativeTemplateId): string {
  return `${parts}${templates[template_id]}${shortSlot}`
}

const parts = `
html{overflow:hidden}
.previewing{overflow:auto}
.surface{position:relative;display:flex;height:100vh;overflow:hidden;border:1px solid var(--line);border-radius:16px;background:var(--paper)}
.picture{position:relative;display:block;overflow:hidden;background:var(--shade)}
.picture::after{content:'';position:absolute;inset:0;border-radius:inherit;box-shadow:inset 0 -1px var(--line)}
.image{display:block;width:100%;height:100%;object-fit:cover}
.words{display:flex;flex:none;flex-direction:column;align-items:flex-start;min-width:0;overflow-wrap:anywhere}
.words>*{flex:none;max-width:100%}
.sponsor{display:flex;align-items:center;gap:8px;color:var(--soft);font-size:.75rem;font-weight:500;line-height:1.25rem}
.sponsor bdi{overflow:hidden;white-space:nowrap;text-overflow:ellipsis}
.icon{flex:none;width:20px;height:20px;border-radius:6px;object-fit:cover;box-shadow:0 0 0 1px var(--line)}
.title,.description{display:-webkit-box;overflow:hidden;margin-top:-.1em;padding-top:.1em;-webkit-box-orient:vertical;-webkit-line-clamp:3}
:is(.title,.description):dir(rtl){margin-bottom:-.1em;padding-bottom:.1em}
.title,.description,.cta{unicode-bidi:plaintext;text-align:match-parent}
.title{font-weight:600;line-height:1.36;letter-spacing:-.01em;text-wrap:balance}
.description{color:var(--soft);text-wrap:pretty}
.cta{overflow:hidden;border:1px solid transparent;border-radius:10px;background:var(--button);color:var(--on-button);font-weight:600;line-height:1.25rem;white-space:nowrap;text-overflow:ellipsis}
.title:dir(rtl){letter-spacing:normal}
@media (hover:hover){
a.surface:hover{border-color:var(--edge)}
a.surface:hover .cta{background:var(--button-hover)}
}
@media (prefers-contrast:more){.cta{border-color:currentColor}}
@media (prefers-reduced-motion:no-preference){.surface,.cta{transition:border-color .15s,background .15s}}
`

/** A picture that has the room that the words leave. */
const pictureAbove = `
.surface{flex-direction:column}
.picture{flex:1;min-height:0}
.image{position:absolute;inset:0}
`

/** In a wide slot the call to action is at the end of the line, not below it. */
const ctaAtTheEnd = `
.words{display:grid;grid-template-columns:minmax(0,1fr) auto;align-content:center;column-gap:16px}
.words>*{grid-column:1;justify-self:start}
.words>.cta{grid-column:2;grid-row:1/span 3;align-self:center;max-width:13rem;margin:0}
`

const templates: Record<NativeTemplateId, string> = {
  card: `
${pictureAbove}
.words{gap:6px;padding:14px 16px 16px}
.title{font-size:1.0625rem}
.cta{margin-top:8px;padding:6px 14px;font-size:.8125rem}
@media (min-width:480px){.title,.description{-webkit-line-clamp:2}}
`,
  list_item: `
.surface{align-items:center;gap:14px;padding:12px;border-radius:14px}
.picture{flex:none;width:88px;height:88px;border-radius:8px}
.picture::after{box-shadow:inset 0 0 0 1px var(--line)}
.words{flex:1;gap:2px}
.title{font-size:.9375rem;-webkit-line-clamp:2}
.description{font-size:.8125rem;line-height:1.4;-webkit-line-clamp:2}
.cta{margin-top:8px;padding:3px 12px;border-radius:8px;background:var(--shade);color:var(--ink);font-size:.8125rem}
@media (hover:hover){a.surface:hover .cta{background:var(--shade-hover)}}
@media (max-width:259px){.picture{width:56px;height:56px}}
@media (max-width:209px){.picture{display:none}}
@media (min-width:520px){${ctaAtTheEnd}}
`,
  featured: `
${pictureAbove}
.surface{border-radius:20px}
.words{gap:8px;padding:18px 20px 20px}
.title{font-size:1.3125rem;letter-spacing:-.015em}
.description{font-size:.9375rem}
.cta{margin-top:10px;padding:8px 18px;font-size:.875rem}
.short .cta{padding-inline:14px}
@media (min-width:520px){
.surface{flex-direction:row}
.picture{flex:0 0 46%}
.picture::after{box-shadow:inset 0 0 0 1px var(--line)}
.words{flex:1;justify-content:center;padding:24px 28px}
.title{font-size:1.5rem}
}
`,
  minimal: `
.surface{align-items:center;padding:12px 16px;border-radius:12px}
.words{flex:1;gap:2px}
.title{font-size:.9375rem;-webkit-line-clamp:2}
.description{font-size:.8125rem;line-height:1.4;-webkit-line-clamp:2}
.cta{margin-top:6px;padding-block:1px;padding-inline:0 8px;border:0;border-radius:0;background:none;color:var(--ink);font-size:.8125rem}
.cta::after{content:'';display:inline-block;width:.42em;height:.42em;margin-inline:.45em .2em;border:solid;border-width:1.5px 1.5px 0 0;vertical-align:.08em;rotate:45deg}
.cta:dir(rtl)::after{rotate:-135deg}
@media (hover:hover){a.surface:hover .cta{background:none;text-decoration:underline;text-underline-offset:3px}}
@media (min-width:520px){${ctaAtTheEnd}
.title{-webkit-line-clamp:1}}
`,
}

const shortSlot = `
.short .surface{align-items:stretch;gap:0;padding:0}
.short .words{flex:1;justify-content:safe center;gap:4px;min-height:0;overflow:hidden;padding:10px 14px}
.short .title{font-size:.9375rem;-webkit-line-clamp:2}
.short .description{font-size:.8125rem;line-height:1.4;-webkit-line-clamp:2}
.short .cta{margin-top:4px;padding-block:4px;font-size:.8125rem}
.short .picture{border-radius:0}
.short .image{position:absolute;inset:0}
@media (max-aspect-ratio:1.2){
.short .surface{flex-direction:column}
.short .picture{flex:1 1 0;width:auto;height:auto;min-height:64px}
.short .picture+.words{flex:none}
}
@media not all and (max-aspect-ratio:1.2){
.short .surface{flex-direction:row}
.short .picture{flex:none;width:min(100vh,36%);height:auto;min-height:0}
}
.shorter .description{display:none}
.tiny .title{font-size:.8125rem;-webkit-line-clamp:1}
.tiny .words{gap:0;padding-block:2px}
.tiny .cta{margin:0;padding-block:1px}
.tiny .sponsor,.tiny .picture{display:none}
@media (max-aspect-ratio:1.2){
.shortest .picture{display:none}
.shortest .picture+.words{flex:1}
}
@media not all and (max-aspect-ratio:1.2){.shortest .sponsor{display:none}}
@media (max-height:119px){.short .words{gap:2px;padding-block:6px}}
@media (max-height:79px) and (min-width:240px),(max-height:139px) and (min-width:480px){
.short .surface{border-radius:12px}
.short .words{display:grid;grid-template-columns:minmax(0,1fr) auto;align-content:safe center;gap:0 12px;padding:4px 12px}
.short .words>*{grid-column:1;justify-self:start}
.short .words>.cta{grid-column:2;grid-row:1/span 3;align-self:center;max-width:38vw;margin:0}
.shortest .title{font-size:.8125rem}
}
@media (max-height:119px) and (max-width:239px){
.short .surface{border-radius:10px}
.tiny .words{padding-inline:8px}
.tiny .cta{padding:0;background:none;color:var(--ink);text-decoration:underline;line-height:1.2}
}
`

type ClipCreative = Extract<FrameCreative, { format: 'clip' }>

export function videoHtml({ video_url, poster_url, width, height }: ClipCreative): string {
  const poster = poster_url === null ? '' : ` poster="${escapeHtml(poster_url)}"`
  return `<video class="video" src="${escapeHtml(video_url)}"${poster} width="${width}" height="${height}" muted playsinline disablepictureinpicture disableremoteplayback preload="metadata"></video>`
}

const icon = (paths: string) => `<svg viewBox="0 0 24 24" aria-hidden="true">${paths}</svg>`
const playIcon = icon(
  '<path class="start" d="M8 5v14l12-7z"/><path class="stop" d="M7 5h4v14H7zm6 0h4v14h-4z"/><path class="again" d="M12 5V1.500L6.500 6.250 12 11V7.500a5.250 5.250 0 1 1-5.250 5.250h-2.500A7.750 7.750 0 1 0 12 5z"/>',
)
const muteIcon = icon(
  '<path d="M3 9v6h4l5 4.500v-15L7 9z"/><path class="silent" d="m16 9.500 5 5m0-5-5 5"/><path class="loud" d="M15.500 9a4 4 0 0 1 0 6m2.500-8.500a8 8 0 0 1 0 11"/>',
)

/**
 * The controls over the video: a quiet line of progress, and two buttons that frame.js labels and moves. They are small
 * and stay in one corner: the advertiser paid for the creative's own words and its end card. Only a clip that has not
 * started shows its play button in the middle, over the poster.
 */
export const controlsHtml = [
  '<div class="progress" aria-hidden="true" hidden><div></div></div>',
  `<button class="play" type="button" aria-label="Play" hidden>${playIcon}</button>`,
  `<button class="mute" type="button" aria-label="Unmute">${muteIcon}</button>`,
].join('')

export const clipStyle = `
.creative{border-radius:12px;background:#000}
.play,.mute{position:absolute;bottom:10px;display:grid;place-items:center;width:36px;height:36px;padding:0;border:1px solid rgb(255 255 255/.2);border-radius:50%;background:rgb(12 12 14/.68);color:#fff;cursor:pointer}
.mute{right:10px}
.play{right:52px}
.play[data-state=idle]{inset:0;width:64px;height:64px;margin:auto}
svg{width:56%;height:56%;fill:currentColor}
.play:not([data-state=idle],[data-state=paused]) .start,.play:not([data-state=playing]) .stop,.play:not([data-state=ended]) .again{display:none}
.silent,.loud{fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round}
.mute.on .silent,.mute:not(.on) .loud{display:none}
.progress{position:absolute;inset:auto 12px 4px;height:3px;overflow:hidden;border-radius:2px;background:rgb(12 12 14/.5);pointer-events:none}
.progress>div{height:100%;background:#fff;transform:scaleX(0);transform-origin:left}
button:focus-visible{outline:2px solid #fff;outline-offset:1px;box-shadow:0 0 0 5px #1d4ed8}
@media (max-height:220px){
.play,.mute{bottom:8px;width:28px;height:28px}
.mute{right:8px}
.play{right:41px}
.play[data-state=idle]{width:48px;height:48px}
}
@media (hover:hover){.play:hover,.mute:hover{background:rgb(12 12 14/.9)}}
@media (prefers-reduced-motion:no-preference){
.play,.mute{transition:background .15s}
.progress>div{transition:transform .25s linear}
}
@media (forced-colors:active){.progress{background:Canvas}.progress>div{background:CanvasText}}
`
