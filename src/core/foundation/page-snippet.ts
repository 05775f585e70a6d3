/**
 * The snippet that adds render.js to a page, the same in every text and template. The stub lets the turn of the page run when
 * render.js is blocked or late: it runs the work at once, and keeps the turn for render.js to show an ad in.
 */

/** The stub: plain enough for old engines, and it throws nothing. */
export const stubLines: readonly string[] = [
  'window.SponsoredPlacement = window.SponsoredPlacement || {',
  '  queue: [],',
  '  withTurn: function (options, work) {',
  '    var result = new Promise(function (resolve) { resolve(work()) })',
  '    window.SponsoredPlacement.queue.push(function (api) { return api.withTurn(options, function () { return result }) })',
  '    return result',
  '  },',
  '}',
]

/** Returns the stub and the script element as HTML lines. `nonce` is that of a page with a strict policy. */
export function pageSnippet(script_url: string, nonce?: string): readonly string[] {
  const attribute = nonce === undefined ? '' : ` nonce="${nonce}"`
  return [
    `<script${attribute}>`,
    ...stubLines.map((line) => `  ${line}`),
    '</script>',
    `<script${attribute} src="${script_url}" async></script>`,
  ]
}
