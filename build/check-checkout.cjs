// Runs before build.ts, in syntax that any Node can parse: an old Node, or a checkout without its packages, would print
// a stack trace.
var fs = require('node:fs')
var path = require('node:path')

var running = process.versions.node.split('.').map(Number)
var root = path.join(__dirname, '..')

if (!fs.existsSync(path.join(root, 'node_modules', 'vite'))) {
  console.error('The packages of this checkout are not installed. Run: npm ci')
  process.exit(1)
}
if (running[0] < 22 || (running[0] === 22 && running[1] < 19)) {
  console.error(`This checkout needs Node 22.19 or later; this is Node ${process.versions.node}.`)
  console.error('npm ci installs one for its scripts. Run: npm ci')
  process.exit(1)
}
