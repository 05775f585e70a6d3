/** This computer, for what finds and starts browsers. */
import { randomBytes } from 'node:crypto'
import { homedir } from 'node:os'
import type { BrowserComputer } from '#qa/browser/engines.ts'
import { webkitOfDistribution } from './engines/webkit/own-engine.ts'

export const computer: BrowserComputer = {
  platform: process.platform,
  env: process.env,
  home: homedir(),
  cwd: process.cwd(),
  own_engines: { webkit: webkitOfDistribution },
  randomText: (length) => randomBytes(length).toString('hex').slice(0, length),
}
