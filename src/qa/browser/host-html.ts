/** The document of the host page: a turn of an assistant, and a slot below it. */
import type { HostPageOptions } from './host-page.ts'

export function hostHtml({
  base_url,
  above,
  slot_width,
}: Pick<HostPageOptions, 'base_url' | 'above' | 'slot_width'>): string {
  const width = slot_width === null ? '' : ` style="width:${slot_width}px"`
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Host</title>
<link rel="icon" href="data:,">
<style>:root{color-scheme:light dark}body{margin:16px;font:16px/1.5 system-ui,sans-serif}</style>
<script src="${escapeAttribute(base_url)}/v1/render.js"></script>
<div style="height:${above}px"></div>
<p>The answer of the assistant stands here.</p>
<div id="slot"${width}></div>
<p>The next turn stands here.</p>
<div style="height:2000px"></div>
</html>`
}

function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
}
