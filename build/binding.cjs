/**
 * In the single binary this file is the `lib/binding.js` of better-sqlite3. The operating system loads a native module
 * only from a real file: it is written once, to the user's cache, or to the temporary folder if the cache is read-only.
 */
'use strict'
const { createHash, randomUUID } = require('node:crypto')
const fs = require('node:fs')
const os = require('node:os')
const path = require('node:path')

let binding

exports.getBinding = () => {
  binding ??= load()
  return binding
}

function load() {
  const folder = path.join(__dirname, '..', 'prebuilds')
  const content = fs.readFileSync(path.join(folder, fs.readdirSync(folder)[0]))
  const name = `better-sqlite3-${createHash('sha256').update(content).digest('hex').slice(0, 16)}.node`
  const problems = []
  for (const directory of directories()) {
    try {
      return require(fileIn(directory, name, content))
    } catch (error) {
      problems.push(`${directory}: ${error.message}`)
    }
  }
  throw new Error(`The database module of svc cannot be written anywhere. ${problems.join('; ')}`)
}

function directories() {
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env
  const cache = XDG_CACHE_HOME || LOCALAPPDATA || path.join(os.homedir(), '.cache')
  return [path.join(cache, 'svc'), path.join(os.tmpdir(), `svc-${os.userInfo().uid}`)]
}

/** Folders and files of another user are not trusted, nor is other content under the same name. */
function fileIn(directory, name, content) {
  fs.mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { uid } = fs.statSync(directory)
  if (process.platform !== 'win32' && uid !== process.getuid()) throw new Error('it belongs to another user')
  const file = path.join(directory, name)
  if (fs.existsSync(file) && fs.readFileSync(file).equals(content)) return file
  const next = `${file}.${randomUUID()}`
  fs.writeFileSync(next, content, { mode: 0o500 })
  fs.renameSync(next, file)
  return file
}
