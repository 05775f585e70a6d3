/** Makes the pictures of README and docs: `node build/pictures/make.ts [first-minute] [gallery] [bundle] [demo] [console] [inspector]`, or all of them. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { makeBundle } from './bundle.ts'
import { makeConsole } from './console.ts'
import { makeDemo } from './demo.ts'
import { makeFirstMinute } from './first-minute.ts'
import { makeGallery } from './gallery.ts'
import { makeInspector } from './inspector.ts'

const pictures = {
  'first-minute': makeFirstMinute,
  gallery: makeGallery,
  bundle: makeBundle,
  demo: makeDemo,
  console: makeConsole,
  inspector: makeInspector,
}

execFileSync(process.execPath, [join(import.meta.dirname, '../dist.ts'), '--if-stale'], { stdio: 'inherit' })
const wanted = process.argv.slice(2)
for (const name of wanted) {
  if (!(name in pictures))
    throw new Error(`There is no picture ${name}. Name one of: ${Object.keys(pictures).join(', ')}`)
}
for (const [name, make] of Object.entries(pictures)) {
  if (wanted.length === 0 || wanted.includes(name)) await make()
}
// The browser of a test stage ends with its process.
process.exit()
