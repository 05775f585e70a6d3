/** The page that is photographed: terminals beside a host page, in which render.js shows a placement. */
import { escapeHtml, type Terminal, terminalHtml } from './terminal.ts'

export interface Poster {
  /** Shown in the address bar: the page's own. */
  host: string
  left: Terminal[]
  /** Below the host page. */
  right: Terminal
  script_url: string
  /** A placement response, as it came. */
  response: unknown
}

/** CSS pixels. */
export const posterWidth = 1120

export function posterHtml({ host, left, right, script_url, response }: Poster): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>The first minute</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<script src="${escapeHtml(script_url)}"></script>
<main>
  <div class="column">${left.map(terminalHtml).join('')}</div>
  <div class="column">
    <section class="window browser">
      <header><i></i><i></i><i></i><span class="address">${escapeHtml(host)}</span></header>
      <div class="chat">
        <p class="question">Why does my moka pot coffee taste bitter?</p>
        <p class="answer">Start with hot water, grind a little coarser than for espresso, and take the pot off the heat as soon as it gurgles. Fresh beans do the rest.</p>
        <div id="slot"></div>
      </div>
      <footer id="events"></footer>
    </section>
    ${terminalHtml(right)}
  </div>
</main>
<script type="application/json" id="response">${JSON.stringify(response).replaceAll('<', '\\u003c')}</script>
<script>${script}</script>
</html>`
}

/** What the host page does: one call, and it shows what the renderer tells. */
const script = `
const list = document.querySelector('#events')
SponsoredPlacement.on('*', (event) => {
  const entry = list.appendChild(document.createElement('span'))
  entry.textContent = event.type === 'beacon' ? 'beacon ' + event.event + ' ' + event.reason_code : event.type
  entry.dataset.event = entry.textContent
})
SponsoredPlacement.renderPlacement({
  target: '#slot',
  response: JSON.parse(document.querySelector('#response').textContent),
})
`

const style = `
:root{color-scheme:light}
*{box-sizing:border-box;margin:0}
body{width:${posterWidth}px;font:14px/1.5 Inter,system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}
main{display:grid;grid-template-columns:484px 1fr;gap:18px;padding:26px;background:#2b2545}
.column{display:flex;flex-direction:column;gap:18px;min-width:0}
.window{overflow:hidden;border-radius:10px;box-shadow:0 0 0 1px rgb(255 255 255/.1),0 10px 28px rgb(8 5 22/.45)}
.window header{display:flex;align-items:center;gap:7px;height:32px;padding:0 12px}
.window header i{width:10px;height:10px;border-radius:50%;background:#ff5f57}
.window header i:nth-child(2){background:#febc2e}
.window header i:nth-child(3){background:#28c840}
.terminal{background:#15131f;color:#e8e6f0}
.terminal:last-child{flex:1}
.terminal header{background:#211e2f}
.terminal header span{flex:1;padding-right:44px;color:#a29dba;font-size:12px;text-align:center}
pre{padding:12px 0 14px 16px;font:12px/16.500px 'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre;-webkit-mask-image:linear-gradient(90deg,#000 calc(100% - 36px),transparent calc(100% - 8px));mask-image:linear-gradient(90deg,#000 calc(100% - 36px),transparent calc(100% - 8px))}
.prompt{color:#b39dff}
.bold{font-weight:700}
.dim{color:#8f8aa8}
.red{color:#ff8080}
.green{color:#6ee7a0}
.yellow{color:#ffd479}
.cyan{color:#75d7ec}
.browser{background:#fff;color:#18181b}
.browser header{background:#ecebf1}
.address{flex:1;margin:0 40px 0 14px;padding:2px 12px;border-radius:6px;background:#fff;color:#52525b;font-size:12px}
.chat{display:flex;flex-direction:column;gap:14px;padding:18px 20px}
.question{align-self:flex-end;max-width:80%;padding:7px 14px;border-radius:16px 16px 4px 16px;background:#ebe7fb}
.answer{max-width:94%}
footer{display:flex;gap:6px;padding:8px 20px;border-top:1px solid #e4e4e7;background:#fafafb}
footer span{padding:1px 9px;border-radius:999px;background:#e9f7ef;color:#17663a;font:11px/18px 'DejaVu Sans Mono',Menlo,Consolas,monospace}
`
