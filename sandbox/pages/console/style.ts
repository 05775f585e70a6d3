/** The style sheets of the console: colours, type and chips of the inspector, and its own. */
/// <reference path="./styles.d.ts" />
import base from '#demo/styles/base.css?inline'
import own from './console.css?inline'

/** Returns them for a shadow root. A strict policy allows style sheets that a script has made. */
export function makeSheets(): CSSStyleSheet[] {
  // The custom properties of a document are those of the host here.
  return [base.replaceAll(':root', ':host'), own].map((text) => {
    const sheet = new CSSStyleSheet()
    sheet.replaceSync(text)
    return sheet
  })
}
