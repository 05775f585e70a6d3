#!/usr/bin/env node
// Plain syntax, so that an old Node can get this far and print that it is too old.
import module from 'node:module'

// With require: an import of fs reads all its properties, which loads fs.promises.
const require = module.createRequire(import.meta.url)
const fs = require('node:fs')
const path = require('node:path')
const here = require('node:url').fileURLToPath(import.meta.url)
// Paths, not addresses: the single binary finds its own files by path only.
const root = path.dirname(path.dirname(here))
const needed = [22, 19]
const running = process.versions.node.split('.').map(Number)
const bundle = path.join(root, 'dist/svc.js')

if (running[0] < needed[0] || (running[0] === needed[0] && running[1] < needed[1])) {
  console.error(`svc needs Node ${needed.join('.')} or later; this is Node ${process.versions.node}.`)
  console.error('Install a current Node from https://nodejs.org, or with your version manager: nvm install --lts')
  process.exitCode = 1
} else if (process.argv.length === 3 && ['--version', '-V', '-v', 'version'].includes(process.argv[2])) {
  console.log(JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).version)
} else if (!fs.existsSync(bundle)) {
  console.error('svc is not built yet, and npm ci does not build it. Run: npm start, which does, or npm run build')
  process.exitCode = 1
} else {
  // Deno has none.
  module.enableCompileCache?.()
  import(require('node:url').pathToFileURL(bundle).href)
}
