/** What starts programs on Windows, by its rules, on any computer. `.ci/other-computers` runs it there. */
import { once } from 'node:events'
import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { array, assert, constantFrom, property, string } from 'fast-check'
import { afterEach, expect, test, vi } from 'vitest'
import { temporaryDirectory } from '#tests/temporary.ts'
import { endTree, scriptLine, startProgram } from './programs.ts'

afterEach(() => vi.unstubAllEnvs())

test('an argument for a script of cmd.exe is in quotes, unless nothing in it is special', () => {
  expect(scriptLine('C:\\my tools\\npm.cmd', ['run', 'a b', '', 'q"uote', '100%PATH%', 'a&calc', '^x', 'dir\\'])).toBe(
    '"C:\\my tools\\npm.cmd" run "a b" "" "q""uote" "100%%cd:~,%PATH%%cd:~,%" "a&calc" "^x" "dir\\\\"',
  )
  expect(() => scriptLine('npm.cmd', ['a\r\ncalc'])).toThrow('an argument with a line break')
})

test('whatever an argument is, cmd.exe reads nothing in it as its own, however often it is passed on', () => {
  const text = string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n\0]/g, ' '))
  const special = string({ unit: constantFrom('"', '\\', '%', '&', '|', '<', '>', '^', '(', ')', '!', ' ', 'a') })
  for (const words of [text, special]) {
    assert(
      property(array(words, { maxLength: 4 }), (args) => {
        // cmd.exe replaces %NAME:~,% by a part of no length of the variable cd, once: not again in the script.
        const line = scriptLine('a.cmd', args).replaceAll('%cd:~,%', '')
        expect(outsideQuotes(line)).toMatch(/^[^&|<>^()!%]*$/)
        expect(readArguments(line)).toEqual(['a.cmd', ...args])
      }),
    )
  }
})

test('a program starts by the rules of Windows, with its arguments as they are', async () => {
  const file = join(temporaryDirectory(), 'arguments.json')
  const script = `require('node:fs').writeFileSync(${JSON.stringify(file)}, JSON.stringify(process.argv.slice(1)))`
  const args = ['a b', 'q"uote', '100%PATH%', 'a&calc']
  const child = await startProgram([process.execPath, '-e', script, ...args], { stdio: 'ignore' }, 'win32')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(args)
  await expect(startProgram(['no-such-program'], { stdio: 'ignore' }, 'win32')).rejects.toMatchObject({
    code: 'ENOENT',
  })
})

test('a process of Windows ends with all that it started', () => {
  const folder = temporaryDirectory()
  writeFileSync(join(folder, 'taskkill'), `#!/bin/sh\necho "$@" >"${folder}/killed"\n`)
  chmodSync(join(folder, 'taskkill'), 0o755)
  endTree(4711, { PATH: `${folder}:${process.env.PATH}` })
  expect(readFileSync(join(folder, 'killed'), 'utf8')).toBe('/pid 4711 /t /f\n')
})

/** Returns what of a line is outside of quotes: there `&`, `|` and others are syntax of cmd.exe. */
function outsideQuotes(line: string): string {
  return line
    .split('"')
    .filter((_, index) => index % 2 === 0)
    .join('')
}

/** Reads a line into arguments as programs of Windows do, by the rules of Microsoft's C runtime. */
function readArguments(line: string): string[] {
  const args: string[] = []
  for (let at = 0; at < line.length; ) {
    let word = ''
    let isQuoted = false
    for (; at < line.length && (isQuoted || line[at] !== ' '); ) {
      const [slashes] = /^\\*/.exec(line.slice(at))!
      const isQuote = line[at + slashes.length] === '"'
      word += '\\'.repeat(isQuote ? Math.floor(slashes.length / 2) : slashes.length)
      at += slashes.length
      if (!isQuote) {
        if (slashes === '') word += line[at++]
      } else if (slashes.length % 2 === 1 || (isQuoted && line[at + 1] === '"')) {
        word += '"'
        at += slashes.length % 2 === 1 ? 1 : 2
      } else {
        isQuoted = !isQuoted
        at++
      }
    }
    args.push(word)
    while (line[at] === ' ') at++
  }
  return args
}
