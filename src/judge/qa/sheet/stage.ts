/** The page around a frame: the label, and what a host page says to the frame. Runs in the page, as the text of its functions. */

import type { Measured } from './measure.ts'

export const stageHtml = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>sheet</title>
<style>:root{color-scheme:light dark;background:light-dark(#fff,#121214)}body{margin:0}
#place{font:12px/1.5 system-ui,sans-serif;padding:4px;width:fit-content;background:light-dark(#fff,#121214)}</style></head>
<body><div id="place"></div></body></html>`

interface StagedVariant {
  frame_path: string
  width: number
  height: number
  label_text: string
  sponsor_name: string
  /** Of the label, one after the other. */
  styles: readonly Readonly<Record<string, string>>[]
}

/** What a page calls to show a variant. Resolves when the document of the frame has loaded. */
export function stageVariant(
  variant: StagedVariant,
  place = document.querySelector<HTMLElement>('#place')!,
): Promise<void> {
  const { frame_path, width, height, label_text, sponsor_name, styles } = variant
  const setStyles = (element: HTMLElement, style: Readonly<Record<string, string>>) => {
    for (const [property, value] of Object.entries(style)) element.style.setProperty(property, value)
  }
  place.style.maxWidth = `${width}px`
  const label = document.createElement('div')
  label.dataset.spLabel = ''
  label.dir = 'auto'
  const words = document.createElement('strong')
  words.textContent = label_text
  setStyles(words, { all: 'unset', 'font-weight': '650' })
  label.append(words, ` · ${sponsor_name}`)
  for (const style of styles) setStyles(label, style)
  const frame = Object.assign(document.createElement('iframe'), { id: 'ad', width, height })
  setStyles(frame, { display: 'block', border: '0', width: `${width}px`, height: `${height}px` })
  return new Promise((resolve) => {
    frame.onload = () => resolve()
    frame.src = frame_path
    place.replaceChildren(label, frame)
  })
}

/** Initialises the frame as a host page does. Resolves to null when the creative is painted, else to what its frame reports. */
export function startFrame(
  { is_in_view }: { is_in_view: boolean },
  frame = document.querySelector<HTMLIFrameElement>('#ad')!,
): Promise<string | null> {
  const channel = new MessageChannel()
  const scheme = getComputedStyle(frame).colorScheme
  const init = { t: 'sp:init', v: 1, nonce: 'sheet', instance_id: 'sheet', scheme }
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve('render_timeout'), 15_000)
    const end = (code: string | null) => {
      clearTimeout(late)
      resolve(code)
    }
    channel.port1.onmessage = ({ data }) => {
      if (data.t === 'resize') frame.style.height = `${data.height}px`
      else if (data.t === 'error' && data.code !== 'autoplay_blocked') end(data.code)
      else if (data.t === 'rendered') {
        if (is_in_view) channel.port1.postMessage({ t: 'visibility', ratio: 1, page_visible: true })
        // The layout of the last resize.
        requestAnimationFrame(() => requestAnimationFrame(() => end(null)))
      }
    }
    frame.contentWindow!.postMessage(init, '*', [channel.port2])
  })
}

/** The message that the frame of a variant answers with what is measured in it: a page cannot look into it. */
export const measureMessage = 'sp:measure'

/** Resolves to what the frame of a variant measures in itself. */
export function measureFrame(frame: HTMLIFrameElement): Promise<Measured> {
  const channel = new MessageChannel()
  return new Promise((resolve) => {
    channel.port1.onmessage = ({ data }) => resolve(data)
    frame.contentWindow!.postMessage({ t: measureMessage }, '*', [channel.port2])
  })
}
