/** A bundle of a turn that was billed, opened from the disk. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { openStage } from '#tests/browser/stage.ts'
import { temporaryDirectory } from '#tests/temporary.ts'
import { keep } from './png.ts'

export async function makeBundle(): Promise<void> {
  await using stage = await openStage({ seed: 11 })
  await using host = await stage.open({ context: { viewport: { width: 1000, height: 760 }, deviceScaleFactor: 1 } })
  await host.show({ format: 'native', native_template_id: 'card' }, '#slot')
  await host.waitForEvent('visible')
  const file = join(temporaryDirectory(), 'turn.html')
  writeFileSync(file, await (await fetch(`${stage.sandbox.url}/_sandbox/bundle.html`)).text())
  await host.page.goto(pathToFileURL(file).href)
  await keep('bundle', host.page, await host.page.screenshot())
}
