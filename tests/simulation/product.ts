/** The product, loaded on a replaced platform, as it is or with a fault put into it on purpose. */

import type { Edit } from '#tests/mutations/edits.ts'
import { importMutant } from '#tests/mutations/mutant-modules.ts'
import { replaceCommits } from './virtual/disk.ts'
import { replaceSockets } from './virtual/network.ts'
import { createComputer, replacePlatform, switchComputer } from './virtual/platform.ts'
import type { Start } from './virtual/process.ts'

/** What the product loads when it is first needed: a file that is read while a history runs takes nobody's time. */
const loadedLater = [
  'sandbox/server/pipeline/streams/decision-sockets.ts',
  'sandbox/rules/runtime/callbacks/network.ts',
  'sandbox/server/pipeline/body/malformed-body.ts',
  'src/core/foundation/consent/strings.ts',
]

interface StartModule {
  startSandbox: Start
}

let isReplaced = false

/** Returns the start of the product. @param edit the fault; null for the product as it is */
export async function loadProduct(edit: Edit | null): Promise<Start> {
  if (!isReplaced) {
    replacePlatform()
    replaceSockets()
    replaceCommits()
    isReplaced = true
  }
  switchComputer(createComputer(0))
  const file = 'sandbox/index.ts'
  if (edit === null) {
    for (const module of loadedLater) await import(new URL(`../../${module}`, import.meta.url).href)
    return ((await import(new URL(`../../${file}`, import.meta.url).href)) as StartModule).startSandbox
  }
  for (const module of loadedLater) await import(new URL(`../../${module}`, import.meta.url).href)
  for (const module of loadedLater) await importMutant(module, edit.name, [edit])
  return (await importMutant<StartModule>(file, edit.name, [edit])).startSandbox
}
