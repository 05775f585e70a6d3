/**
 * A clip inside the hosted frame: its markup and its style, which are read together.
 *
 * The controls are small and stay in one corner: the creative's own words and its end card are what was paid for. Only a
 * clip that has not started shows its play button in the middle, over the poster.
 */
import { escapeHtml } from '../../src/foundation/html.ts'
import type { FrameCreative } from '../operations/render.ts'

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

/** What lies over the video: a quiet line of progress, and two buttons that frame.js labels and moves. */
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
